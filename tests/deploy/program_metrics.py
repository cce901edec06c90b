"""The metrics that the program really has: names, labels and label values of its registry."""

from collections import defaultdict

from prometheus_client import generate_latest
from prometheus_client.parser import text_string_to_metric_families

from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.telemetry.metrics import Metrics

ROOT = "s3://bucket/checkpoints"


def exposition() -> str:
    """Return what a daemon that has just started answers at /metrics."""
    return generate_latest(
        Metrics([ScheduledRoot(root=ROOT, schedule="6h")], "1").registry
    ).decode()


def known_series() -> dict[str, dict[str, set[str]]]:
    known: dict[str, dict[str, set[str]]] = {}
    for family in text_string_to_metric_families(exposition()):
        for sample in family.samples:
            labels = known.setdefault(sample.name, defaultdict(set))
            for label, value in sample.labels.items():
                labels[label].add(value)
    return known
