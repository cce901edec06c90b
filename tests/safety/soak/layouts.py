"""How the jobs of a soak write their files: settings, and what such jobs cannot do."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from integration.harness.flinkbed.exporting import FOUR_AT_ONCE
from integration.harness.flinkbed.settings import CHANGELOG
from safety.soak.expected_state import ASYNC_JOB, ASYNC_PARTS, JOB, PARTS

_MERGING = "execution.checkpointing.file-merging"
_LOG = "state.changelog.dstl.dfs.base-path"


@dataclass(frozen=True, slots=True)
class Layout:
    """One of them."""

    name: str  # of the layout
    # settings of the jobs, by their names of Flink 2
    config: Mapping[str, str] = field(default_factory=dict)
    # whether a change log is written; it lies in the directories of the jobs, and Flink
    # restores no such job in NO_CLAIM, for a checkpoint cannot be made whole
    has_log: bool = False
    is_canonical: bool = True  # whether savepoints can have the canonical format
    job: Path = JOB  # the source of the job
    parts: tuple[Path, ...] = PARTS  # sources that it uses

    def settings(self, root: str, concurrent: int) -> dict[str, str]:
        log = {_LOG: root} if self.has_log else {}
        return {**self.config, **log, **(FOUR_AT_ONCE if concurrent > 1 else {})}


LAYOUTS = {
    each.name: each
    for each in (
        Layout("flat"),
        Layout("heap", {"state.backend.type": "hashmap"}),
        Layout(
            "within",
            {f"{_MERGING}.enabled": "true", f"{_MERGING}.across-checkpoint-boundary": "false"},
        ),
        Layout(
            "across",
            {
                f"{_MERGING}.enabled": "true",
                f"{_MERGING}.across-checkpoint-boundary": "true",
                f"{_MERGING}.max-file-size": "32kb",  # so that files are closed, and others begun
            },
        ),
        Layout("changelog", CHANGELOG, has_log=True),
        Layout(
            "forst",  # its own files are written for asynchronous state alone
            {"state.backend.type": "forst"},
            is_canonical=False,
            job=ASYNC_JOB,
            parts=ASYNC_PARTS,
        ),
        Layout("sync_forst", {"state.backend.type": "forst"}, is_canonical=False),
    )
}
