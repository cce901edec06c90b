"""Stories of metrics as promtool tests them: series, and which alerts fire at an instant.

``stories.yaml`` tells them.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path
from string import Template
from typing import Any

import yaml

STORIES: Mapping[str, list[dict[str, Any]]] = yaml.safe_load(
    Path(__file__).with_suffix(".yaml").read_text()
)
"""By the alert that is looked at."""
_HERE = {"namespace": "flink", "job": "orphangc"}
_ROOT = {"root": "s3://bucket/checkpoints"}
_CRON = {"namespace": "flink", "cronjob": "my-orphangc"}
_KUBE_STATE = {"job": "kube-state-metrics", "instance": "10.0.0.9:8080"}


def _pods() -> Iterator[tuple[str, dict[str, str]]]:
    """Yield what Prometheus and its operator say of daemons, of their pods and their roots."""
    for word, number in (("", 1), ("2", 2)):
        daemon = {**_HERE, "instance": f"10.0.0.{number}:8080"}
        pod = {**daemon, "pod": f"orphangc-{number}"}
        yield from ((f"daemon{word}", daemon), (f"pod{word}", pod), (f"root{word}", pod | _ROOT))


SERIES = {
    **dict(_pods()),
    "pushed": {"job": "orphangc", **_ROOT},  # by a CronJob to a Pushgateway with honor_labels
    "cron": _CRON | _KUBE_STATE,
    "idle": _CRON | _KUBE_STATE | {"cronjob": "idle-orphangc"},
}
"""Labels of series."""
FIRES = {
    "root": _HERE | _ROOT,
    "pushed": SERIES["pushed"],
    "daemon": SERIES["daemon"],
    "cron": _CRON,
    "nothing": {},
}
"""Labels of alerts."""
_WRITTEN = {
    name: ",".join(f'{key}="{value}"' for key, value in labels.items())
    for name, labels in SERIES.items()
}


def as_promtool(rule: Mapping[str, Any], story: Mapping[str, Any]) -> dict[str, Any]:
    """Return a test as promtool wants it; what never changes is taken from the rule."""
    return {
        "name": f"{rule['alert']}: {story['says']}",
        "interval": "5m",
        "input_series": [
            {"series": Template(name).substitute(_WRITTEN), "values": values}
            for name, values in story["series"].items()
        ],
        "alert_rule_test": [
            {
                "alertname": rule["alert"],
                "eval_time": story["at"],
                "exp_alerts": [_expected(rule, **each) for each in story.get("fires", ())],
            }
        ],
    }


def _expected(rule: Mapping[str, Any], *, of: str, description: str, **more: str) -> dict[str, Any]:
    return {
        "exp_labels": {**rule["labels"], **FIRES[of], **more},
        "exp_annotations": {**rule["annotations"], "description": description},
    }
