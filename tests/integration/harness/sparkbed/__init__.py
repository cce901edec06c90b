"""Real Spark in the ways that people run it: here, on a cluster, behind Connect, submitted."""
