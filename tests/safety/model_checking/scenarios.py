"""What is explored: what must be safe, and what must not be."""

from dataclasses import replace

from orphangc.core.model.bounds import BoundName
from orphangc.core.model.codes import Condition, Guard
from safety.model_checking.conduct import (
    DERIVED,
    DERIVED_AT_ONCE,
    DERIVED_SAVED,
    REGISTRY,
    REGISTRY_ALONE,
    REGISTRY_SAVED,
    Conduct,
)
from safety.model_checking.flink import Mode, Scope, Version
from safety.model_checking.scenario import Scenario
from safety.model_checking.verdict import Rules
from safety.model_checking.worlds import (
    ONLY_IN_THE_OLDEST,
    SECTION_2_4,
    TWO_COPIES,
    A,
    B,
    C,
    completed,
    ended,
    ended_twice,
    left_behind,
    moved_away,
    third_is_next,
)


def rules(*without: Guard | Condition, **changes: object) -> Rules:
    """Return orphangc's rules without some guards and conditions."""
    return replace(Rules(without=frozenset(without)), **changes)


AT_ONCE = Conduct(program=DERIVED_AT_ONCE, is_weak=False)
SLOWLY = Conduct()
BY_IDS = Conduct(
    program=REGISTRY_ALONE,
    is_weak=False,
    exporting=(A,),
    rules=rules(
        Guard.RETAINED_ROOT_MISSING, concurrent=4, has_names_with_ids=True, has_ids_only=True
    ),
)
"""T2 and nothing else: file names with ids, and not one look at a time."""
BY_TIME = replace(BY_IDS, rules=rules(Guard.RETAINED_ROOT_MISSING, concurrent=4))
"""R16: bare UUIDs as names."""
IN_FULL = Conduct(program=REGISTRY, exporting=(A,), rules=rules(concurrent=4))
WITH_TOMBSTONES = replace(AT_ONCE, is_greedy=False, has_gap=True, runs=2)


def claimed(conduct: Conduct, mode: Mode = Mode.CLAIM, checkpoints: int = 5, **more) -> Scenario:
    """Return a job that starts from a checkpoint of another one, which is over."""
    scope = Scope(checkpoints=checkpoints, restores=((B, A, mode),))
    name = more.pop("name", f"{mode.value} of an ended job's checkpoint")
    return Scenario(name=name, scope=scope, conduct=conduct, start=ended(), **more)


BOTH_ASKED = replace(SLOWLY, asked=(A, B))


def from_left_behind(mode: Mode) -> Scenario:
    """Return a job that is started again from any checkpoint of its own, the oldest too."""
    return Scenario(
        name=f"derived: {mode.value} of a checkpoint left behind, of the same job",
        scope=Scope(checkpoints=4, restores=((A, A, mode),), keeps_roots=True),
        conduct=SLOWLY,
        start=left_behind(),
    )


LEFT_BEHIND = [
    Scenario(
        name="derived: a checkpoint left behind, deaths",
        scope=Scope(deaths=1, keeps_roots=True),
        conduct=AT_ONCE,
    ),
    Scenario(
        name="derived: a checkpoint left behind, slow listings",
        scope=Scope(retained=2, keeps_roots=True),
        conduct=SLOWLY,
        history=TWO_COPIES,
    ),
    Scenario(
        name="derived: a checkpoint left behind, ids begin anew",
        scope=Scope(checkpoints=3, has_reset=True, keeps_roots=True),
        conduct=SLOWLY,
        start=third_is_next(Scope()),
    ),
    from_left_behind(Mode.CLAIM),
]
"""What bounds a running job's orphans is k*: no checkpoint left behind is needed (decision 19)."""

SAVED = [
    Scenario(
        name="saved plan: two retained, two copies of a table",
        scope=Scope(retained=2),
        conduct=replace(AT_ONCE, program=DERIVED_SAVED),
        history=TWO_COPIES,
    ),
    Scenario(
        name="saved plan: deaths between the listing and the evidence",
        scope=Scope(deaths=1),
        conduct=replace(AT_ONCE, program=DERIVED_SAVED),
    ),
    Scenario(
        name="saved plan: registry, two at once",
        scope=Scope(checkpoints=2, concurrent=2),
        conduct=replace(IN_FULL, program=REGISTRY_SAVED, is_weak=False),
    ),
    claimed(
        replace(AT_ONCE, asked=(A, B), program=DERIVED_SAVED),
        checkpoints=3,
        name="saved plan: a claimer starts after the listing",
    ),
]
"""The listing is as old as a plan (decision 23)."""


def of_folders(by: str, name: str = "", **scope: object) -> Scenario:
    """Return two checkpoints at once, whose own files are judged without any age (T3, R31)."""
    return Scenario(
        name=name,
        scope=Scope(concurrent=2, has_private=True, **scope),
        conduct=replace(AT_ONCE, rules=rules(Guard.GATE, concurrent=2, chk_n=by)),
    )


FOLDERS = [
    of_folders("by its id", "chk-n: two at once", checkpoints=2, aborts=1, has_late=True),
    of_folders("by its id", "chk-n: two at once, deaths", checkpoints=2, deaths=1, is_split=True),
]
"""T3 needs neither one checkpoint at a time nor any age."""

LISTED = {
    "first": (("list",), ("now", "e1"), ("e2",), ("s2(", "s2)", "judge")),
    "last": (("now", "e1"), ("e2",), ("s2(", "s2)"), ("list", "judge")),
}
"""With ids in all names the place of the listing does not matter, as the proof says."""

SAFE = [
    *SAVED,
    *FOLDERS,
    Scenario(
        name="derived: slow listings, deaths", scope=Scope(changes=1, deaths=1), conduct=SLOWLY
    ),
    Scenario(
        name="derived: two retained, two copies of a table",
        scope=Scope(checkpoints=5, retained=2),
        conduct=SLOWLY,
        history=TWO_COPIES,
    ),
    *(
        Scenario(
            name=f"derived: Flink {version.value}, two retained",
            scope=Scope(version=version, retained=2, changes=1),
            conduct=AT_ONCE,
        )
        for version in Version
    ),
    Scenario(name="derived: two tasks", scope=Scope(checkpoints=2, tasks=2), conduct=AT_ONCE),
    Scenario(
        name="derived: old REST answers, roots deleted late or never",
        scope=Scope(checkpoints=2, has_cache=True, keeps_roots=True),
        conduct=replace(AT_ONCE, is_cached=True),
    ),
    Scenario(
        name="derived: _metadata before the store, late uploads",
        scope=Scope(
            checkpoints=2, is_split=True, has_late=True, aborts=1, deaths=1, has_private=True
        ),
        conduct=AT_ONCE,
    ),
    Scenario(
        name="derived: store times of whole seconds",
        scope=Scope(checkpoints=2, changes=1),
        conduct=AT_ONCE,
        is_coarse=True,
    ),
    *LEFT_BEHIND,
    Scenario(
        name="registry by ids: two at once",
        scope=Scope(concurrent=2),
        conduct=BY_IDS,
        is_timeless=True,
    ),
    Scenario(
        name="registry by ids: two retained",
        scope=Scope(checkpoints=3, concurrent=2, retained=2),
        conduct=BY_IDS,
        is_timeless=True,
    ),
    *(
        Scenario(
            name=f"registry by ids: the listing is {when}",
            scope=Scope(checkpoints=2, concurrent=2),
            conduct=replace(BY_IDS, program=program),
            is_timeless=True,
        )
        for when, program in LISTED.items()
    ),
    Scenario(
        name="registry by ids: aborts, late acknowledgements",
        scope=Scope(checkpoints=2, concurrent=2, aborts=1, has_late=True, has_private=True),
        conduct=BY_IDS,
        is_timeless=True,
    ),
    Scenario(
        name="registry by time: two at once",
        scope=Scope(checkpoints=2, concurrent=2),
        conduct=BY_TIME,
    ),
    Scenario(
        name="registry in full: slow listings, deaths",
        scope=Scope(checkpoints=2, concurrent=2, deaths=1),
        conduct=IN_FULL,
    ),
    *(claimed(BOTH_ASKED, mode, 4) for mode in Mode),
    Scenario(
        name="tombstones: two collectors that crash",
        scope=Scope(checkpoints=2),
        conduct=replace(WITH_TOMBSTONES, may_crash=True, runs=1),
        collectors=2,
    ),
]

WITHOUT_GATE = rules(Guard.GATE, concurrent=2, has_names_with_ids=True)
ROOTS = ("s1(", "s1)", "s2(", "s2)")
BEFORE_THE_OLDEST = {
    "": (("now", "rest", "e2"), ("e1",), ("s1(", "s1)", "list", "s2(", "s2)", "judge")),
    ", listing last": (("now", "rest", "e2"), ("e1",), ROOTS, ("list", "judge")),
    ", which comes last": (("now", "rest", "e2"), ("list",), ROOTS, ("e1", "judge")),
    ", roots before all": (("now", "rest", *ROOTS), ("e2",), ("list",), ("e1", "judge")),
}
"""R14 the wrong way round: E2 before E1, wherever the listings are."""
BACKWARDS = rules(
    Guard.REGISTRY,
    Guard.RETAINED_ROOT_MISSING,
    Condition.REGISTRY_ORDER_UNPROVEN,
    has_ids_only=True,
    has_names_with_ids=True,
    concurrent=4,
)
HIDDEN_ROOT = Scope(checkpoints=3, retained=3, changes=2)
FORGETFUL = replace(WITH_TOMBSTONES, faults=1, is_long=True)
SHORT_SIGHTED = replace(WITH_TOMBSTONES, faults=2, has_gap=False)
MOVED = replace(AT_ONCE, faults=1, is_long=True, hides=(A, 2), rules=rules(sees_missing=True))
UNWHOLE = replace(BY_IDS, loses_entries=True)
RESET = Scope(checkpoints=3, has_reset=True)


def hidden(name: str, conduct: Conduct) -> Scenario:
    """Return a job one of whose roots a collector may fail to see."""
    return Scenario(name=name, scope=HIDDEN_ROOT, conduct=conduct, history=ONLY_IN_THE_OLDEST)


FOUND = {
    "R31: the id": of_folders("by nothing", checkpoints=2),
    **{
        f"2.4: no gate, {names}": Scenario(
            name="",
            scope=Scope(concurrent=2),
            conduct=replace(AT_ONCE, rules=replace(WITHOUT_GATE, has_names_with_ids=has_ids)),
        )
        for names, has_ids in (("names with ids", True), ("bare names", False))
    },
    **{
        f"R14: registry before the oldest retained id{where}": Scenario(
            name="",
            scope=Scope(concurrent=2),
            conduct=replace(BY_IDS, program=program, rules=BACKWARDS),
            is_timeless=True,
        )
        for where, program in BEFORE_THE_OLDEST.items()
    },
    "R12: both listings miss a root": Scenario(
        name="",
        scope=Scope(checkpoints=5, retained=2),
        conduct=replace(SLOWLY, rules=rules(Guard.UNSTABLE_ROOT)),
        history=TWO_COPIES,
    ),
    "R5: paths only": claimed(
        replace(BOTH_ASKED, rules=rules(is_path_only=True)), name="", checkpoints=3
    ),
    "R8: a damaged latest root is none of its business": Scenario(
        name="",
        scope=Scope(),
        conduct=replace(MOVED, rules=rules(Guard.DAMAGED_LATEST_ROOT, sees_missing=True)),
        start=moved_away(),
    ),
    "R9: no time of the own roots": Scenario(
        name="",
        scope=Scope(checkpoints=2),
        conduct=replace(
            AT_ONCE, rules=rules(without_bounds=frozenset({BoundName.OLDEST_OWN_ROOT}))
        ),
    ),
    "R15: a snapshot without its end": Scenario(
        name="",
        scope=Scope(concurrent=2),
        conduct=replace(UNWHOLE, rules=BACKWARDS),
        is_timeless=True,
        history=SECTION_2_4,
    ),
    "R15: E1 and E2 of two JobManagers": Scenario(
        name="",
        scope=RESET,
        conduct=replace(BY_IDS, rules=BACKWARDS),
        is_timeless=True,
        start=third_is_next(RESET),
    ),
    "R17: deletes at first sight": hidden("", replace(FORGETFUL, has_quarantine=False)),
    "R18: no look before the batch": hidden("", replace(SHORT_SIGHTED, looks_again=False)),
}
"""Each takes one rule away: a loss must be found."""

ANSWERED = [
    Scenario(
        name="registry by ids: snapshots may come without their end",
        scope=Scope(concurrent=2),
        conduct=UNWHOLE,
        is_timeless=True,
        history=SECTION_2_4,
    ),
    Scenario(
        name="registry by ids: ids begin anew",
        scope=RESET,
        conduct=BY_IDS,
        is_timeless=True,
        start=third_is_next(RESET),
    ),
    Scenario(name="the last root is out of sight", conduct=MOVED, start=moved_away()),
    hidden("tombstones: a root hides for a whole run", FORGETFUL),
    hidden("tombstones: a root hides from two cycles", SHORT_SIGHTED),
]
"""The same worlds with the rule: no loss."""


def asks_in_vain(conduct: Conduct) -> Conduct:
    """Return a collector that does not know of the job that took over."""
    return replace(conduct, asked=(A,))


MENDED = [
    claimed(asks_in_vain(SLOWLY), checkpoints=4, name="CLAIM by a job that nobody is asked for"),
    claimed(
        replace(SLOWLY, asked=(), declared=(A,)),
        name="CLAIM from a job that is declared over, by one that nobody is asked for",
    ),
    Scenario(
        name="CLAIM of a checkpoint that came by CLAIM, and that nobody has read",
        scope=Scope(checkpoints=5, restores=((C, B, Mode.CLAIM),)),
        conduct=replace(SLOWLY, asked=(A, B, C)),
        start=ended_twice(),
    ),
]
"""What the explorer found in orphangc's own rules, and what is mended now."""

THIRD_IS_DUE = (*TWO_COPIES, *completed(3)[:3])
ASKS_ONCE = (*DERIVED[:-1], ("judge",))

MUTANTS = {
    "does not ask REST again": Scenario(
        name="",
        scope=Scope(checkpoints=5, retained=2, keeps_roots=True),
        conduct=replace(SLOWLY, program=ASKS_ONCE),
        history=THIRD_IS_DUE,
    ),
    "protects with the last listing alone": Scenario(
        name="",
        scope=Scope(checkpoints=5, retained=2),
        conduct=replace(SLOWLY, protects_first=False),
        history=TWO_COPIES,
    ),
    "judges each job by itself": claimed(
        replace(BOTH_ASKED, rules=rules(passes_on=False)), name=""
    ),
    "knows no time but the roots' with a registry (R16)": Scenario(
        name="",
        scope=Scope(checkpoints=2, concurrent=2),
        conduct=replace(
            BY_TIME,
            rules=replace(
                BY_TIME.rules,
                without_bounds=frozenset({BoundName.FIRST_SNAPSHOT, BoundName.OLDEST_ISSUED}),
            ),
        ),
    ),
    "does not ask which ids were issued (R16)": Scenario(
        name="",
        scope=Scope(checkpoints=2, concurrent=2),
        conduct=replace(
            BY_TIME,
            rules=replace(BY_TIME.rules, without_bounds=frozenset({BoundName.OLDEST_ISSUED})),
        ),
    ),
    "lets an ended job's roots change meanwhile": claimed(
        replace(asks_in_vain(SLOWLY), rules=rules(Guard.ENDED_JOB_IS_RUNNING)),
        name="",
        checkpoints=4,
    ),
    "asks nothing of a job that it saw once": claimed(
        replace(SLOWLY, asked=(), declared=(A,), rules=rules(passes_on=False)), name=""
    ),
}
"""Beyond the list of rules."""

LARGE = [
    of_folders("by its id", "chk-n: three, two at once", checkpoints=3, deaths=1, aborts=1),
    from_left_behind(Mode.NO_CLAIM),
    from_left_behind(Mode.LEGACY),
    Scenario(
        name="nightly: a checkpoint left behind, deaths, changes",
        scope=Scope(changes=1, deaths=1, keeps_roots=True),
        conduct=AT_ONCE,
    ),
    Scenario(
        name="large: slow listings, deaths, aborts, late uploads",
        scope=Scope(changes=1, deaths=1, aborts=1, has_late=True),
        conduct=SLOWLY,
    ),
    *(
        Scenario(
            name=f"large: Flink {version.value}, three retained",
            scope=Scope(version=version, checkpoints=4, retained=3, changes=1),
            conduct=AT_ONCE,
        )
        for version in Version
    ),
    Scenario(
        name="large: registry by ids, two at once, four checkpoints",
        scope=Scope(checkpoints=4, concurrent=2),
        conduct=BY_IDS,
        is_timeless=True,
    ),
    Scenario(
        name="large: registry by ids, four at once",
        scope=Scope(checkpoints=4, concurrent=4),
        conduct=BY_IDS,
        is_timeless=True,
        history=SECTION_2_4,
    ),
    Scenario(
        name="large: registry by time, section 2.4",
        scope=Scope(checkpoints=4, concurrent=2, aborts=1),
        conduct=BY_TIME,
        history=SECTION_2_4,
    ),
]
"""Of the class ``nightly``."""
