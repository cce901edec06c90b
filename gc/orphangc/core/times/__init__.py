"""The one check of every time that a file, a listing or an answer states."""
