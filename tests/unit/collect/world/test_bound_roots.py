"""Which storage roots a state location serves."""

from __future__ import annotations

import json

import pytest

from orphangc.adapters.open import open_state_files
from orphangc.collect.state.store import RootState
from orphangc.collect.world.bound_roots import bound_roots
from orphangc.core.model.locations import canonical

ONE, OTHER = canonical("s3://bucket/one"), canonical("/data/other")


@pytest.fixture
def files(tmp_path):
    return open_state_files(str(tmp_path / "state"))


def test_every_bound_root_is_found_and_nothing_else(files) -> None:
    """A folder of another name, and one that no run has bound, name no storage root."""
    for root in (ONE, OTHER):
        RootState(files, root).bind()
    files.write(f"{'0' * 32}/halted.json", b"{}")
    files.write("notes/root.json", json.dumps({"root": "/x"}).encode())
    assert {each.root for each in bound_roots(files)} == {ONE, OTHER}


@pytest.mark.parametrize(
    "content",
    [b"", b"{", b"[]", b"null", b'{"root": 1}', b'{"root": "x"}', b'{"root": "s3://bucket/two"}'],
)
def test_a_folder_that_does_not_say_whose_it_is_is_no_folder_without_an_owner(
    files, content
) -> None:
    """Its storage root is unknown, which is not the same as none."""
    state = RootState(files, ONE)
    files.write(f"{state.folder}/root.json", content)
    (found,) = bound_roots(files)
    assert found.root is None
    assert str(found.folder).endswith(state.folder)


def test_an_absent_state_location_serves_none(files) -> None:
    """It is made when something is first written there."""
    assert list(bound_roots(files)) == []
