"""A cluster with the plugin: its jobs export their registries, and may put ids into file names."""

import re
from collections.abc import Mapping
from pathlib import Path

from integration.harness.flinkbed.cluster import ClaimMode, Cluster
from integration.harness.flinkbed.plugin import STORAGE, plugin_jar
from integration.harness.flinkbed.settings import Workload, as_numbers
from integration.harness.flinkbed.truth import UUID, named_in_metadata, shared_files
from support.processes import pause

FOUR_AT_ONCE = {
    "execution.checkpointing.max-concurrent-checkpoints": "4",
    "execution.checkpointing.min-pause": "0 ms",  # any pause would make it one at a time
}
QUICK_EXPORTS = {
    "orphangc.registry.interval": "3 s",
    "orphangc.registry.min-pause": "100 ms",
    "orphangc.registry.nonce-interval": "100 ms",
    "orphangc.registry.num-retained": "20",
}
ID_AND_UUID = re.compile(rf"([0-9]+)_{UUID.pattern}")
# before, a job cannot choose its storage by settings: the cluster's are asked if the job knows no
# directory
JOB_CHOOSES_STORAGE = (1, 19)


class ExportingCluster:
    """A cluster whose jobs lie in one base, four checkpoints at a time.

    Without the plugin it is Flink as it is, and no name can have an id.
    """

    def __init__(
        self,
        version: str,
        work: Path,
        *,
        retained: int,
        workload: Workload | None = None,
        more: Mapping[str, str] | None = None,
        has_plugin: bool = True,
    ) -> None:
        self.base = work / "ckpt"
        self.registry = work / "registry"
        self._job_chooses = as_numbers(version) >= JOB_CHOOSES_STORAGE
        jars = [plugin_jar(version)] if has_plugin else []
        config = {"execution.checkpointing.num-retained": str(retained), **(more or {})}
        if has_plugin:
            config |= QUICK_EXPORTS | {"orphangc.registry.dir": f"file://{self.registry}"}
        if has_plugin and not self._job_chooses:
            config["execution.checkpointing.storage"] = STORAGE
            config["orphangc.checkpoints.dir"] = f"file://{self.base}"
        self.cluster = Cluster(
            version,
            work / "flink",
            config=config,
            workload=workload,
            libraries=jars,
            jobmanager_options=[f"-javaagent:{jar}" for jar in jars],
        )

    def submit(
        self,
        *,
        with_ids: bool,
        interval: str,
        restore: Path | None = None,
        mode: ClaimMode | None = None,
        config: Mapping[str, str] | None = None,
    ) -> str:
        """Start a job whose shared files have ids in their names, or are named as Flink does."""
        chosen = FOUR_AT_ONCE | dict(config or {})
        if with_ids and self._job_chooses:
            chosen["execution.checkpointing.storage"] = STORAGE
        elif with_ids:
            chosen["execution.checkpointing.dir"] = ""
        return self.cluster.submit(self.base, restore, mode, interval=interval, config=chosen)

    def freeze_jobmanager(self) -> None:
        """Stop the JobManager where it is; only ``kill_jobmanager`` helps."""
        pid = self.cluster._jobmanager.pid
        assert pid is not None
        pause(pid)

    def nonce(self, job: str) -> str:
        """Return what a collector wrote last for the job's exporter, "" if nothing."""
        file = self.registry / job / "nonce"
        return file.read_text() if file.is_file() else ""

    def unnamed(self, job: str) -> set[Path]:
        named = named_in_metadata(self.base)
        return {path for path in shared_files(self.base / job) if uuid_of(path) not in named}


def uuid_of(path: Path) -> str:
    """Return the UUID in a shared file's name, which must have one."""
    hit = UUID.search(path.name)
    assert hit, path
    return hit[0]


def id_of(path: Path) -> int:
    """Return the checkpoint id in a shared file's name, which must have one."""
    hit = ID_AND_UUID.fullmatch(path.name)
    assert hit, path
    return int(hit[1])
