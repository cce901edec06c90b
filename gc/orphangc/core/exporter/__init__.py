"""What exporters inside JobManagers say, against what the storage shows."""
