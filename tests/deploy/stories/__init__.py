"""Stories of metrics for each alert: what fires it, and what looks alike and must not."""

from deploy.stories.daemon import DAEMON, KUBERNETES
from deploy.stories.findings import FINDINGS
from deploy.stories.runs import RUNS

__all__ = ["CASES"]

CASES = (*RUNS, *FINDINGS, *DAEMON, *KUBERNETES)
