"""Whatever others wrote, only the project's own errors come out, and soon; nothing is lost."""

import os
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import thread_time
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from flinkstate.places.locations import canonical
from robustness.fuzz import answers, own_files, targets
from robustness.fuzz.target import Target
from support import night, speed
from support.filing import FoundInput

PROFILE = os.environ.get("HYPOTHESIS_PROFILE", "dev")
EXAMPLES = {"dev": 40, "ci": 150, "nightly": night.share(12_000, least=150)}[PROFILE]
_SECONDS = 2.0
"""Of processor time for one small input, on a machine that does too much at once."""

TARGETS = (*targets.TARGETS, *answers.TARGETS, *own_files.TARGETS)

pytestmark = pytest.mark.timeout(7_200 if PROFILE == "nightly" else 600)

deep = settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck))


@dataclass
class Last:
    """The input that a target was given last, which is the smallest one when it has failed."""

    target: str
    value: Any = None


@contextmanager
def filed_if_it_fails(last: Last) -> Iterator[None]:
    """File what a search with fresh seeds finds; a check finds it again anyway."""
    try:
        yield
    except Exception:
        if not settings.default.derandomize:
            print("filed:", FoundInput(target=last.target, value=last.value).file())
        raise


@pytest.mark.parametrize("target", TARGETS, ids=lambda each: each.name)
def test_a_damaged_input_is_read_rightly_or_refused(target: Target, record_property) -> None:
    """Refused with an error that says what is wrong; never a traceback, never half an answer."""
    counts: Counter[str] = Counter()
    last = Last(target.name)

    with tempfile.TemporaryDirectory() as folder:

        @deep
        @given(target.inputs)
        def check(value: object) -> None:
            counts["executions"] += 1
            last.value = value
            began = thread_time()
            try:
                target.read(value, Path(folder))
            except target.errors:
                counts["refused"] += 1
            assert thread_time() - began < speed.scaled(_SECONDS)

        with filed_if_it_fails(last):
            check()
    record_property(
        "told", f"fuzz {target.name}: {counts['executions']} inputs, {counts['refused']} refused"
    )


_FAMILIES = (
    ("s3", "s3a", "s3n", "s3p", "S3"),
    ("abfs", "abfss", "az", "wasb", "wasbs"),
    ("gs", "gcs"),
)
paths = st.text(st.characters(exclude_categories=("Cs",)), max_size=20) | st.sampled_from(
    ["a/../b", "//a", "a//b/", ".", "..", "%41", "a\\b", "?x=1", "#f", "@", "a b", "\0", "ck/"]
)
authorities = st.sampled_from(["b", "b.c", "u@h", "h:80", "", "c@a.dfs.core.windows.net", "B"])


@deep
@given(
    st.text(max_size=30) | st.builds("{}://{}/{}".format, st.text(max_size=5), authorities, paths)
)
@example("file:///\n")
def test_a_place_is_spelled_one_way_or_is_none(text: str) -> None:
    """What ``canonical`` says of a URI, it says of its own spelling, too."""
    try:
        place = canonical(text)
    except ValueError:
        return
    again = canonical(str(place))
    assert again == place
    assert place.path.startswith("/")
    assert "//" not in place.path
    assert place.contains(again)


@deep
@given(st.sampled_from(_FAMILIES), authorities, paths)
def test_the_spellings_of_a_family_are_one_place(family, authority, path) -> None:
    """Iceberg#4346, Amoro#877: compared by text, every file would be an orphan."""
    places = {canonical(f"{scheme}://{authority}/{path}") for scheme in family}
    assert len(places) == 1
    assert {canonical(f"{scheme}://{authority}//{path}/") for scheme in family} == places


@deep
@given(
    authorities,
    paths,
    st.text(
        st.characters(exclude_characters="/\\", exclude_categories=("Cs",)), min_size=1, max_size=8
    ),
)
def test_a_child_lies_in_its_place_and_a_neighbour_does_not(authority, path, name) -> None:
    """``dmf_2`` never holds ``dmf_27`` (TiFlash#7128)."""
    place = canonical(f"s3://{authority}/{path}")
    if name not in {".", ".."}:
        child = place.child(name)
        assert place.key_of(child) == name
        assert place.contains(child)
        if place.path != "/":
            assert not place.contains(canonical(f"{place}{name}"))


_KEYS = st.lists(
    st.text(st.characters(exclude_characters="/\\", exclude_categories=("Cs",)), min_size=1)
    | st.sampled_from(["%41", "A", "a", "a ", " a", "A\u0301", "\xc1", "x?y", "x#y", "x;y", "..."]),
    min_size=1,
    max_size=3,
).filter(lambda parts: not {".", ".."} & set(parts))


@deep
@given(_KEYS, _KEYS)
@example(["A\u0301"], ["\xc1"])
@example(["%41"], ["A"])
@example(["a"], ["a "])
def test_another_object_is_another_place(one, other) -> None:
    """Nothing is decoded, folded, trimmed or composed: a reference to one protects that one."""
    places = [canonical("s3a://b/ck/" + "/".join(parts)) for parts in (one, other)]
    assert (places[0] == places[1]) is (one == other)
    assert [each.path for each in places] == ["/ck/" + "/".join(each) for each in (one, other)]
    assert canonical("s3://b/ck").key_of(places[0]) == "/".join(one)
