"""The world of a deletion: places that were searched or named, and the operator's statements.

A place that was not searched never means that it holds no checkpoint.
"""
