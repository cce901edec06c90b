"""Vocabulary: identifiers, Flink's file names, locations, settings, codes."""
