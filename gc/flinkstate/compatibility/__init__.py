"""Declared state against stored state: unclaimed, missing, pruned."""
