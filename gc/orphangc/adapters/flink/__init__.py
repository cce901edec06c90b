"""What Flink says: its REST API, the exporter's folder, HA metadata in Kubernetes and ZooKeeper."""
