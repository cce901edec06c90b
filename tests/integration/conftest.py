"""Fixtures of the integration tests; each is defined beside the harness that it starts."""

from integration.harness.flinkbed.fixtures import flink_cluster, started_flink_cluster

__all__ = ["flink_cluster", "started_flink_cluster"]
