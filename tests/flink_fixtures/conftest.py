"""Every test here runs whole commands, in surroundings of its own."""

from cli.surroundings import own_surroundings

__all__ = ["own_surroundings"]
