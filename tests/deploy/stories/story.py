"""What a story of metrics is: series, and which alerts fire at an instant.

Times are promtool's: the epoch is the start of the story, and a sample stands every five minutes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

ROOT = "s3://bucket/checkpoints"
DAY = 288  # samples
GIB = 1024**3


@dataclass(frozen=True)
class Case:
    """One story."""

    alert: str  # the alert that is looked at
    says: str  # what the story shows, in words
    series: Mapping[str, str]  # series by name, in promtool's notation
    at: str  # when to look
    # label values and description of each alert that fires; none: it is silent
    fires: tuple[Mapping[str, str], ...] = field(default=())

    def as_promtool(self, rule: Mapping[str, Any]) -> dict[str, Any]:
        """Return the test as promtool wants it; what never changes is taken from the rule."""
        return {
            "name": f"{self.alert}: {self.says}",
            "interval": "5m",
            "input_series": [{"series": k, "values": v} for k, v in self.series.items()],
            "alert_rule_test": [
                {
                    "alertname": self.alert,
                    "eval_time": self.at,
                    "exp_alerts": [_expected(rule, dict(each)) for each in self.fires],
                }
            ],
        }


def _expected(rule: Mapping[str, Any], labels: dict[str, str]) -> dict[str, Any]:
    description = labels.pop("description")
    return {
        "exp_labels": {**rule["labels"], **labels},
        "exp_annotations": {**rule["annotations"], "description": description},
    }


def series(name: str, **labels: str) -> str:
    """Return a series as promtool writes it."""
    inside = ",".join(f'{key}="{value}"' for key, value in labels.items())
    return f"{name}{{{inside}}}"


def scraped(name: str, *, pod: int = 1, **labels: str) -> str:
    """Return a series of a daemon's pod, with the labels that the Prometheus operator adds."""
    where = {"namespace": "flink", "job": "orphangc", "instance": f"10.0.0.{pod}:8080"}
    return series(f"orphangc_{name}", **where, pod=f"orphangc-{pod}", **labels)


def of_root(name: str, *, pod: int = 1, root: str = ROOT, **labels: str) -> str:
    """Return a scraped series of a storage root."""
    return scraped(name, pod=pod, root=root, **labels)


def pushed(name: str, **labels: str) -> str:
    """Return a series of a CronJob as it comes from a Pushgateway with honor_labels."""
    return series(f"orphangc_{name}", job="orphangc", root=ROOT, **labels)


HERE = {"namespace": "flink", "job": "orphangc"}


def found(description: str, **labels: str) -> Mapping[str, str]:
    """Return an alert about the storage root, as a daemon's metrics fire it."""
    return {**HERE, "root": ROOT, **labels, "description": description}


def found_pushed(description: str, **labels: str) -> Mapping[str, str]:
    """Return the same of metrics that were pushed."""
    return {"job": "orphangc", "root": ROOT, **labels, "description": description}
