"""Everything outside, one external system in each folder: storages, Flink, Kubernetes, Spark."""
