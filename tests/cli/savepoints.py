"""Savepoints in an extra root, of jobs that were redeployed."""

from pathlib import Path
from typing import Any

from cli.helpers import DAY, Ran, metadata, write
from cli.redeploys import Redeploys

SHORT = ("--quarantine-period", "0", "--allow-short-margins")


def distinct(number: int) -> str:
    """Return ids whose first six digits differ: Flink names folders of savepoints by them."""
    return f"{0xABCDEF01 + (number << 8):08x}" + "deadbeef" * 3


def _id(checkpoint: dict[str, Any]) -> int:
    return checkpoint["checkpoint_id"]


class Savepoints:
    """Savepoints of the oldest job of a chain, and one of the running job, in an extra root."""

    def __init__(self, chain: Redeploys) -> None:
        self.chain = chain
        self.root = chain.bed.folder / "savepoints"
        job_id = chain.jobs[0].id
        self.folders = [self.root / f"savepoint-{job_id[:6]}-{n:012x}" for n in range(3)]
        for number, folder in enumerate(self.folders):
            age = (103 - number) * DAY
            names = [f"{number:08x}-5a5a-4000-8000-{part:012x}" for part in range(2)]
            paths = [write(folder / name, b"savepoint state", age) for name in names]
            write(folder / "_metadata", metadata(2 + number, paths), age)
        newest = self.root / f"savepoint-{chain.running.id[:6]}-{9:012x}"
        write(newest / "_metadata", metadata(17, []), 2 * DAY)

    def expire(self, *options: object, declares: bool = True, delete: bool = True) -> Path:
        """Expire all that nothing needs but the newest of the chain, and sweep it."""
        named = ("--savepoints", self.root) if declares else ()
        policy = ("--ended-for", "0", "--keep-last", "1", "--extra-roots", self.root)
        return self.chain.expired(*policy, *named, *options, delete=delete)

    def reasons(self, *options: object, declares: bool = True) -> list[str]:
        """Return action and reason of each savepoint, oldest first."""
        named = ("--savepoints", self.root) if declares else ()
        policy = ("--ended-for", "0", "--keep-last", "1", "--extra-roots", self.root)
        ran = self.chain.expire(*policy, *named, *options)
        found = [e for part in ran.json["expiry"]["lineages"] for e in part["checkpoints"]]
        own = sorted((e for e in found if e["checkpoint_id"] in {2, 3, 4}), key=_id)
        return [f"{each['reason']}: {each['why']}" for each in own]

    def restorable(self, ran: Ran) -> set[bool | None]:
        lineages = (ran.json.get("expiry") or ran.json)["lineages"]
        found = [e for part in lineages for e in part["checkpoints"]]
        return {e["is_restorable"] for e in found if e["checkpoint_id"] in {2, 3, 4}}

    @property
    def complete(self) -> list[bool]:
        return [(folder / "_metadata").exists() for folder in self.folders]

    @property
    def files(self) -> list[int]:
        return [len([*folder.glob("0*")]) for folder in self.folders]
