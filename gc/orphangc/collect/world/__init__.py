"""The world of a cycle: gather it, recall what earlier cycles saw, remember it."""
