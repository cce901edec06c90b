"""What the cluster and its jobs are told, in the spelling of each Flink version."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support import speed

RETAINED = "execution.checkpointing.num-retained"
DEFAULT_RETAINED = "3"

# Flink 2.x name -> name that every 1.x accepts
SPELLING_BEFORE_2 = {
    "high-availability.type": "high-availability",
    "execution.checkpointing.storage": "state.checkpoint-storage",
    "execution.checkpointing.dir": "state.checkpoints.dir",
    RETAINED: "state.checkpoints.num-retained",
    "execution.checkpointing.data-inline-threshold": "state.storage.fs.memory-threshold",
    "execution.checkpointing.incremental": "state.backend.incremental",
    "state.backend.type": "state.backend",
    "restart-strategy.type": "restart-strategy",
    "state.changelog.enabled": "state.backend.changelog.enabled",
    "state.changelog.storage": "state.backend.changelog.storage",
    "state.changelog.periodic-materialize.interval": (
        "state.backend.changelog.periodic-materialize.interval"
    ),
    "state.changelog.dstl.dfs.base-path": "dstl.dfs.base-path",
}

CHANGELOG = {
    "state.changelog.enabled": "true",
    "state.changelog.storage": "filesystem",
    "state.changelog.periodic-materialize.interval": "2s",
}
"""Settings of a job that writes a change log."""

# sizes that Flink's own start scripts would compute; RocksDB's memory comes on top and stays small
MEMORY = {
    "taskmanager.memory.framework.heap.size": "96mb",
    "taskmanager.memory.framework.off-heap.size": "64mb",
    "taskmanager.memory.task.heap.size": "96mb",
    "taskmanager.memory.task.off-heap.size": "32mb",
    "taskmanager.memory.managed.size": "32mb",
    "taskmanager.memory.network.min": "16mb",
    "taskmanager.memory.network.max": "16mb",
    "taskmanager.memory.jvm-metaspace.size": "160mb",
    "taskmanager.memory.jvm-overhead.min": "64mb",
    "taskmanager.memory.jvm-overhead.max": "64mb",
    "state.backend.rocksdb.memory.managed": "false",
}

LOOPBACK = {
    "jobmanager.rpc.address": "127.0.0.1",
    "jobmanager.bind-host": "127.0.0.1",
    "taskmanager.bind-host": "127.0.0.1",
    "taskmanager.host": "127.0.0.1",
    "rest.address": "127.0.0.1",
    "rest.bind-address": "127.0.0.1",
}

# a killed process refuses connections, which is noticed, and a job restarted, within seconds
QUICK_RECOVERY = {
    "heartbeat.interval": "1000",
    "heartbeat.timeout": str(round(1000 * speed.scaled(30))),
    "cluster.registration.error-delay": "400",
    "cluster.registration.refused-registration-delay": "400",
    "restart-strategy.type": "fixed-delay",
    "restart-strategy.fixed-delay.attempts": "1000",
    "restart-strategy.fixed-delay.delay": "500 ms",
}

# Flink answers /jobs/:id/checkpoints from a cache of 3 s otherwise
FRESH_ANSWERS = {
    "web.refresh-interval": "200",
    "rest.cache.checkpoint-statistics.timeout": "200 ms",
}

ON_REQUEST = "1d"
"""Interval of a job whose checkpoints are taken when a test asks for one: nothing else completes or
subsumes a checkpoint meanwhile, however long the test takes to look at it. It is the pause as well:
Flink 2.3 starts the scheduler of a fresh job twice, and takes a checkpoint one pause after the
second start (``CheckpointCoordinator.startCheckpointScheduler``, ``triggerDelay``)."""
_PAUSE = "200ms"
REQUESTS_SINCE = (1, 17)
"""The first Flink that takes a checkpoint when it is asked to."""

LOG4J = """\
rootLogger.level = INFO
rootLogger.appenderRef.console.ref = Console
appender.console.name = Console
appender.console.type = CONSOLE
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss,SSS} %-5p %-40c{1} - %m%n
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workload:
    """How much state the job keeps: ``keys`` entries of twice ``payload`` bytes."""

    keys: int = 300
    payload: int = 200
    records_per_second: int = 150  # of each subtask

    def arguments(self, control: Path) -> list[str]:
        """Return the job's command line."""
        rate, keys, payload = self.records_per_second, self.keys, self.payload
        numbers = {"--rate": rate, "--keys": keys, "--payload": payload}
        return [
            "--control",
            str(control),
            *(str(word) for pair in numbers.items() for word in pair),
        ]


def as_numbers(version: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", version))


def spelled(settings: Mapping[str, str], version: str) -> dict[str, str]:
    """Return settings, given by their Flink 2.x names, under the names that this version reads."""
    old = SPELLING_BEFORE_2 if as_numbers(version) < (2,) else {}
    return {old.get(key, key): value for key, value in settings.items()}


def cluster_settings(rest_port: int, rpc_port: int, tmp: Path, slots: int) -> dict[str, str]:
    return {
        **LOOPBACK,
        **MEMORY,
        **QUICK_RECOVERY,
        **FRESH_ANSWERS,
        "rest.port": str(rest_port),
        "jobmanager.rpc.port": str(rpc_port),
        "io.tmp.dirs": str(tmp),
        "process.working-dir": str(tmp),
        "web.tmpdir": str(tmp),
        "taskmanager.numberOfTaskSlots": str(slots),
        "taskmanager.cpu.cores": "2",
        # both are read from the cluster's settings, not from the job's, before 2.x
        RETAINED: DEFAULT_RETAINED,
        "execution.checkpointing.data-inline-threshold": "0b",
    }


def job_settings(checkpoint_dir: str, interval: str) -> dict[str, str]:
    """Return the settings of one job, by their Flink 2.x names."""
    return {
        "execution.checkpointing.interval": interval,
        "execution.checkpointing.min-pause": ON_REQUEST if interval == ON_REQUEST else _PAUSE,
        "execution.checkpointing.timeout": "30min",  # what is held is held
        "execution.checkpointing.tolerable-failed-checkpoints": "1000",
        "execution.checkpointing.externalized-checkpoint-retention": "RETAIN_ON_CANCELLATION",
        "execution.checkpointing.dir": checkpoint_dir,
        "execution.checkpointing.incremental": "true",
        "state.backend.type": "rocksdb",
    }


def write_configuration(folder: Path, version: str, settings: Mapping[str, str]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    name = "config.yaml" if as_numbers(version) >= (2,) else "flink-conf.yaml"
    lines = [f"{key}: {value}\n" for key, value in spelled(settings, version).items()]
    (folder / name).write_text("".join(lines), encoding="utf-8")
    (folder / "log4j.properties").write_text(LOG4J, encoding="utf-8")
