"""Lists and decides on Apache Spark: the DataFrame API only, so that Spark Connect will do."""
