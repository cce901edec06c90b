"""Entropy injection: Flink puts random characters into the paths of a job's files (issue 13, U6).

Source: Flink 1.13-2.3, ``EntropyInjector``: ``s3.entropy.key`` in the checkpoint directory becomes
``s3.entropy.length`` random letters and digits, anew for each data file; ``_metadata`` goes to the
same path without them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import takewhile

from flinkstate.places.locations import Location
from orphangc.core.decision.evidence import JobEvidence
from orphangc.core.model.naming import job_directory_of

_RANDOM = re.compile(r"[0-9A-Za-z]+", re.ASCII)
_SEVERAL = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Entropy:
    """Directories over which entropy injection spreads the files of one job.

    Attributes:
        spread: Other directories of the same job id, by the random part of their path.
    """

    directory: Location
    spread: dict[str, Location]

    @property
    def words(self) -> str:
        """Return what happens, for people."""
        some = ", ".join(sorted(self.spread)[:3])
        return (
            "entropy injection (s3.entropy.key) spreads the job's files over random folders"
            f" ({some}, ...) beside {self.directory}"
        )

    @property
    def above(self) -> Location:
        """Return the innermost folder that holds all of the directories."""
        others = self.spread.values()
        upwards = self.directory.upwards()
        return next(
            (each for each in upwards if all(each.contains(other) for other in others)),
            self.directory.top,
        )


def entropy_of(job: JobEvidence) -> Entropy | None:
    """Return over what entropy injection spreads a job's files, ``None`` if it does not.

    It takes two random parts of one length: a single other directory of the same job id may be the
    base that a job with a fixed id was moved from.
    """
    folders = {folder for checkpoint in job.own_checkpoints for folder in checkpoint.files}
    for directory in sorted(job.directories_with_checkpoints, key=str):
        if spread := _spread(directory, folders):
            return Entropy(directory=directory, spread=spread)
    return None


def _spread(directory: Location, folders: Iterable[Location]) -> dict[str, Location]:
    """Return the job directories of folders by their random parts, if these have one length."""
    named = {place for folder in folders if (place := job_directory_of(folder)) is not None}
    found = {part: each for each in named if (part := random_part(directory, each)) is not None}
    return found if len(found) >= _SEVERAL and len({*map(len, found)}) == 1 else {}


def is_spread_over(directory: Location, folders: Iterable[Location], other: Location) -> bool:
    """Return whether entropy injection surely made a folder for the job of a directory.

    Args:
        folders: Folders that these name files in; several must have random parts of one length.
    """
    own = random_part(directory, other)
    return own is not None and len(own) in {*map(len, _spread(directory, folders))}


def random_part(directory: Location, other: Location) -> str | None:
    """Return the letters and digits that one path has more than the other, ``None`` if others."""
    if directory.top != other.top or len(other.path) <= len(directory.path):
        return None
    pairs = zip(directory.path, other.path, strict=False)
    start = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
    rest = directory.path[start:]
    more = other.path[start : len(other.path) - len(rest)]
    part = more.strip("/")
    is_random = other.path.endswith(rest) and _RANDOM.fullmatch(part) is not None
    return part if is_random else None


def entropy_in_listing(job: JobEvidence, listed: Iterable[Location]) -> Entropy | None:
    """Return the entropy of a job if any of its random folders was listed."""
    entropy = entropy_of(job)
    if entropy is None or set(listed).isdisjoint(entropy.spread.values()):
        return None
    return entropy
