"""What Flink says: its REST API, HA metadata in Kubernetes and ZooKeeper."""
