"""Files that the Spark driver and its executors exchange."""
