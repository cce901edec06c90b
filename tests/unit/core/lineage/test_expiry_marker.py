"""What the marker of an expiry says by its name (R44)."""

import pytest

from flinkstate.places.locations import canonical
from orphangc.core.lineage.expired_checkpoint import ExpiryMarker
from orphangc.core.model.naming import EXPIRY_MARKER, TEMPORARY, expiry_marker
from unit.core.lineage.lineage_builders import NOW

STATE = "1" * 32
UUID = "11111111-1111-1111-1111-111111111111"
ROOT = canonical("s3://bucket/flink")
FOLDER = ROOT.child(f"{'a' * 32}/chk-5")


@pytest.mark.parametrize("depth", range(3))
def test_a_marker_names_its_storage_root_by_how_deep_it_lies(depth) -> None:
    """So any spelling of that place will do, and a copy of the folder elsewhere names no other."""
    root = [FOLDER, FOLDER.parent, ROOT][depth]
    marker = ExpiryMarker.at(FOLDER.child(expiry_marker(STATE, depth)), NOW)
    assert marker == ExpiryMarker(FOLDER, STATE, NOW, root)


@pytest.mark.parametrize(
    ("name", "state"),
    [
        (f"{EXPIRY_MARKER}{UUID}", STATE),
        (f"{EXPIRY_MARKER}9-{UUID}", STATE),
        (f"{EXPIRY_MARKER}x-{UUID}", STATE),
        (f"{TEMPORARY}{UUID}", ""),
    ],
)
def test_of_any_other_name_the_storage_root_is_unknown(name, state) -> None:
    assert ExpiryMarker.at(FOLDER.child(name)) == ExpiryMarker(FOLDER, state, None)


@pytest.mark.parametrize("name", ["_metadata", UUID, f"2-{UUID}", EXPIRY_MARKER, f"x{TEMPORARY}"])
def test_other_files_are_no_markers(name) -> None:
    assert ExpiryMarker.at(FOLDER.child(name)) is None
