"""What was found once is not there any more; what a search finds is filed and found again."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from robustness.fuzz.test_fuzz import TARGETS
from support import filing

FILED = sorted(filing.FOLDER.glob("*.json"))
BY_NAME = {each.name: each for each in TARGETS}


@pytest.mark.parametrize("path", FILED, ids=lambda each: each.stem)
def test_what_was_filed_is_mended(path: Path, request, tmp_path: Path) -> None:
    """Each input and each example of ``tests/robustness/found``."""
    again(filing.read(path), request, tmp_path)


def again(filed: filing.FoundInput | filing.FoundExample, request, folder: Path) -> None:
    if isinstance(filed, filing.FoundExample):
        filed.replay(request.getfixturevalue)
        return
    target = BY_NAME[filed.target]
    try:
        target.read(filed.value, folder)
    except target.errors:
        return


@settings(print_blob=True)
@given(st.integers(0, 10_000))
def no_number_is_large(number: int) -> None:
    """A property that does not hold."""
    assert number < 77


HERE = "robustness/found/test_found_again.py::no_number_is_large"


def reported() -> filing.FoundExample:
    with pytest.raises(AssertionError) as caught:
        no_number_is_large()
    example = filing.example_of(f"tests/{HERE}", "\n".join(caught.value.__notes__))
    assert example is not None
    return example


def test_a_property_that_does_not_hold_is_filed_and_fails_again(request, tmp_path: Path) -> None:
    """Until it holds, which is no failure of the replay."""
    filed = reported()
    assert "number=77," in filed.text
    assert filed.blob
    read = filing.read(filed.file(tmp_path))
    assert read == filed
    with pytest.raises(AssertionError, match="77"):
        again(read, request, tmp_path)


def test_what_another_hypothesis_found_has_to_be_written_down(request, tmp_path: Path) -> None:
    """It never passes because nothing can read it."""
    filed = filing.FoundExample(test=HERE, version="1.0", blob="AA", text="number=77")
    with pytest.raises(AssertionError, match="write it as @example"):
        again(filed, request, tmp_path)


@pytest.mark.parametrize("value", [b"\xff\0", [1, "\ud800", None, {"a": float("inf")}], "text"])
def test_an_input_is_filed_as_it_is(value, tmp_path: Path) -> None:
    """Bytes as bytes, JSON as JSON."""
    filed = filing.FoundInput(target="one answer", value=value)
    assert filing.read(filed.file(tmp_path)) == filed
