"""Folders of this machine: what a file system tells beside its files."""
