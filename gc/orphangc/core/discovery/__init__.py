"""Kubernetes resources and Flink's configuration files, read into the world that they describe."""
