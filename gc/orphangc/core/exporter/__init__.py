"""The exporter's registry snapshots: format, answers, owner markers."""
