"""The folders of a job's directory: their names, and what follows from how Flink writes them.

No other module of orphangc spells these names, and a set of areas that a fact decides is asked of
this table. Source: as ``core.model.naming``.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from orphangc.core.model.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class JobFolder:
    """One kind of folder; no fact has a default, so a new row answers each question.

    Attributes:
        name: Its name; where a job has many, how their names begin.
        rest: Pattern of what follows in its name, "" where a job has one such folder.
        counts_anywhere: Whether it is an area below any folder; else only below a job id, for
            people call other folders so too (``flinkstate.places.checkpoint_names``).
        is_entered: Whether a scan for checkpoints enters it: a ``_metadata`` may be below.
        is_made_once: Whether Flink makes it when the job starts, and never again.
        is_trace_of_flink: Whether no other product has folders of this name.
    """

    name: str
    rest: str
    counts_anywhere: bool
    is_entered: bool
    is_made_once: bool
    is_trace_of_flink: bool


JOB_FOLDERS: Mapping[Scope, JobFolder] = {
    Scope.EXCLUSIVE: JobFolder(
        name="chk-",
        rest="[0-9]+",
        counts_anywhere=True,
        is_entered=True,
        is_made_once=False,
        is_trace_of_flink=True,
    ),
    Scope.SHARED: JobFolder(
        name="shared",
        rest="",
        counts_anywhere=True,
        is_entered=False,
        is_made_once=True,
        is_trace_of_flink=False,
    ),
    Scope.TASKOWNED: JobFolder(
        name="taskowned",
        rest="",
        counts_anywhere=True,
        is_entered=False,
        is_made_once=True,
        is_trace_of_flink=True,
    ),
    Scope.CHANGELOG: JobFolder(
        name="dstl",
        rest="",
        counts_anywhere=False,  # the base path of the changelog is often called so too
        is_entered=False,
        is_made_once=False,
        is_trace_of_flink=False,
    ),
    Scope.FORST: JobFolder(
        name="op_",
        rest="[^/]*",
        counts_anywhere=False,
        is_entered=True,
        is_made_once=False,
        is_trace_of_flink=True,
    ),
}
FOLDERS = {scope: each.name for scope, each in JOB_FOLDERS.items() if not each.rest}
"""Folders of a job directory that have one name."""
NUMBERED_FOLDERS = {scope: each.name for scope, each in JOB_FOLDERS.items() if each.rest}
"""How the names of those begin of which it has many."""
SHARED = FOLDERS[Scope.SHARED]
CHANGES = FOLDERS[Scope.CHANGELOG]
CHECKPOINT = NUMBERED_FOLDERS[Scope.EXCLUSIVE]


def scopes_where(fact: Callable[[JobFolder], bool]) -> frozenset[Scope]:
    """Return the areas of whose folders a fact holds."""
    return frozenset(scope for scope, each in JOB_FOLDERS.items() if fact(each))


def pattern_where(fact: Callable[[JobFolder], bool]) -> str:
    """Return the pattern of the names of the folders of which a fact holds."""
    return "|".join(f"{each.name}{each.rest}" for each in JOB_FOLDERS.values() if fact(each))
