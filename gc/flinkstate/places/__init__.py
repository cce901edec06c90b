"""Where checkpoints are: Flink's spelling of places, and its names of folders and files."""
