"""The Spark engine, by the DataFrame API only, so that Spark Connect suffices."""
