"""Who needs what: against an oracle that knows nothing but strings and sets."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from flinkstate.places.locations import canonical
from orphangc.collect.dependencies.foreign_usage import ForeignUsages
from orphangc.core.columns.file_names import FileNames
from orphangc.core.decision.judge import Judgement
from orphangc.core.dependencies.self_sustained_rule import foreign_usage_of
from orphangc.core.documents.self_sustained_record import UsageCheckPart
from orphangc.core.model.types import JobId
from support.builders import BASE, a_job, a_root

A, B, C = (JobId(letter * 32) for letter in "abc")
TOP = str(BASE)
UUIDS = tuple(f"00000000-0000-4000-8000-{number:012}" for number in range(5))
NAMES = (*UUIDS, f"41_{UUIDS[0]}", f"op_{UUIDS[1]}")
FOLDERS = (
    *(f"{TOP}/{job}/{area}" for job in (A, B, C) for area in ("shared", "chk-1", "chk-2")),
    f"{TOP}/savepoint-1",
    "s3://elsewhere/x",
)
PATHS = tuple(f"{folder}/{name}" for folder in FOLDERS for name in NAMES)
some_paths = st.frozensets(st.sampled_from(PATHS), max_size=4)


@dataclass(frozen=True)
class World:
    """Every checkpoint by its folder with the paths that it names, and what is stored."""

    roots: dict[str, frozenset[str]]
    stored: frozenset[str]


@st.composite
def worlds(draw: st.DrawFn) -> World:
    """Return jobs and a savepoint that name each other's files at random, some lost."""
    folders = [f"{TOP}/{job}/chk-{n}" for job in (A, B, C) for n in (1, 2)]
    folders.append(f"{TOP}/savepoint-1")
    roots = {folder: draw(some_paths) for folder in folders if draw(st.booleans())}
    roots.setdefault(f"{TOP}/{C}/chk-2", draw(some_paths))
    named = frozenset(path for paths in roots.values() for path in paths)
    lost = draw(st.frozensets(st.sampled_from(sorted(named)))) if named else frozenset()
    return World(roots, (named | draw(some_paths)) - lost)


# --- the oracle


def end(path: str) -> str:
    """Return the UUID that a path ends in."""
    return path[-36:]


def unresolved(world: World, job: str) -> set[str]:
    """Return the paths that a job's checkpoints name and no file of its own answers."""
    own = f"{TOP}/{job}/"
    named = {p for folder, paths in world.roots.items() if folder.startswith(own) for p in paths}
    return {p for p in named if not p.startswith(own) or p not in world.stored}


def meant_in(world: World, job: str, snapshot: str) -> set[str]:
    """Return which of them are files of a snapshot, or may be."""
    paths = world.roots.get(snapshot)
    references = unresolved(world, job)
    below = {p for p in references if p.startswith(f"{snapshot}/")}
    if paths is None:  # its _metadata is gone
        return below | {p for p in references if not p.startswith(f"{TOP}/{job}/")}
    return below | {p for p in references if end(p) in {end(each) for each in paths}}


# --- what is judged


def files(paths: frozenset[str]) -> dict:
    folders = {path.rpartition("/")[0] for path in paths}
    return {
        canonical(folder): FileNames(
            path.rpartition("/")[2] for path in paths if path.rpartition("/")[0] == folder
        )
        for folder in folders
    }


def looked(world: World, *asked: str) -> tuple[UsageCheckPart, ...]:
    """Return the looks at job C."""
    roots = {}
    for folder, paths in world.roots.items():
        job = folder.removeprefix(f"{TOP}/").partition("/")[0]
        is_own = len(job) == 32
        roots[folder] = a_root(
            int(folder[-1]),
            job=JobId(job) if is_own else JobId(""),
            folder=canonical(folder),
            directory=BASE.child(job) if is_own else None,
            files=files(paths),
            sha256=folder,
        )
    usages, owners = {}, {}
    for job in (A, B, C):
        own = tuple(root for root in roots.values() if root.job_id == job)
        evidence = a_job(
            job, own_checkpoints=own, directories=(BASE.child(job),), before=(), after=()
        )
        lost = [p for root in own for p in world.roots[str(root.folder)] if p not in world.stored]
        absent: dict = {}
        for path in lost:
            folder, _, name = path.rpartition("/")
            absent.setdefault(canonical(folder), set()).add(name)
        usages[job] = foreign_usage_of(evidence, Judgement(), absent=absent)
        owners[BASE.child(job)] = job
    found = ForeignUsages(
        by_job=usages,
        checkpoints=tuple(roots.values()),
        owners=owners,
        held={},
        stored=lambda _: FileNames(),
    )
    return found.check(C, [canonical(each) for each in asked])


@given(worlds())
def test_a_yes_is_one_for_the_oracle_too(world: World) -> None:
    """No path leads out of the job's directory, and its own checkpoints' folders lack nothing."""
    everything, *places = looked(world)
    references = unresolved(world, C)
    foreign = {p for p in references if not p.startswith(f"{TOP}/{C}/")}
    others = [folder for folder in world.roots if not folder.startswith(f"{TOP}/{C}/")]
    lost = {p for p in references - foreign if p.startswith(f"{TOP}/{C}/chk-")}
    found = {p for p in lost if any(p in meant_in(world, C, each) for each in others)}
    if foreign:
        assert everything.value is False
        assert set(everything.sample) <= references
        assert any(place.value is False for place in places)
    elif found:
        assert everything.value is False
    else:
        assert everything.value is (None if lost else True)


@given(worlds(), st.sampled_from([f"{TOP}/{A}/chk-1", f"{TOP}/{B}/chk-2", f"{TOP}/savepoint-1"]))
def test_a_snapshot_is_needed_exactly_if_the_oracle_says_so(world: World, snapshot: str) -> None:
    """By path, by base name, by UUID; and if its _metadata is gone, by any doubt."""
    place = next(look for look in looked(world, snapshot) if look.place == snapshot)
    needed = meant_in(world, C, snapshot)
    references = unresolved(world, C)
    lost = {p for p in references if p.startswith(f"{TOP}/{C}/chk-")}
    if needed:
        assert place.value is False
        assert {each.uri for each in place.named_by} == {
            folder
            for folder, paths in world.roots.items()
            if folder.startswith(f"{TOP}/{C}/") and paths & needed
        }
    else:
        assert place.value is not False
        assert place.value is True or lost
