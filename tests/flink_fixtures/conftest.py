"""Every test here runs whole commands, in surroundings of its own."""

from cli.own_environment import own_surroundings

__all__ = ["own_surroundings"]
