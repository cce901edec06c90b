"""Gathering the world: which places are searched, what they showed, what is named outside."""
