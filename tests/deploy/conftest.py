"""Fixtures of the deploy tests; each is defined beside what fetches it."""

from deploy.fixtures import (
    alertmanager,
    amtool,
    helm,
    helm3,
    helm4,
    jsonnet,
    jsonnetfmt,
    node_modules,
    prometheus,
    promtool,
    pushgateway,
)

__all__ = [
    "alertmanager",
    "amtool",
    "helm",
    "helm3",
    "helm4",
    "jsonnet",
    "jsonnetfmt",
    "node_modules",
    "prometheus",
    "promtool",
    "pushgateway",
]
