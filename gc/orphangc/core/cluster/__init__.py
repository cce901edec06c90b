"""What Flink, Kubernetes and ZooKeeper said, parsed into facts about jobs."""
