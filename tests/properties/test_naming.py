"""What holds of every name, path and listing key, however hostile."""

from hypothesis import assume, example, given
from hypothesis import strategies as st

from flinkstate.places.locations import Alias, Location, canonical
from orphangc.core.areas.recognise import recognise
from orphangc.core.areas.table import area_at
from orphangc.core.model.job_folders import CHECKPOINT, FOLDERS
from orphangc.core.model.naming import artifact_name, parse_artifact_name, place_of_folder, uuid_of
from orphangc.core.model.types import DirectoryLayout, Scope
from support.builders import BASE
from support.strategies import MAX_ID, checkpoint_ids, flat_names, folders, names, uuids

keys = (
    st.lists(
        st.text(st.characters(blacklist_characters="/\\\0"), min_size=1, max_size=8).filter(
            lambda part: part not in {".", ".."}
        ),
        min_size=1,
        max_size=4,
    )
    .map("/".join)
    .filter(lambda key: not key.endswith("/"))
)


@given(st.none() | checkpoint_ids, uuids)
def test_a_name_and_its_parts_are_inverse(checkpoint_id: int | None, uuid: bytes) -> None:
    """R1: the grammar and its inverse."""
    name = artifact_name(checkpoint_id, uuid)
    assert parse_artifact_name(name) == (checkpoint_id, uuid)
    assert uuid_of(name) == uuid


@given(names)
def test_what_parses_re_spells_to_itself(name: str) -> None:
    """R1 "exactly": no second spelling of a name is an artifact, and no name crashes."""
    parsed = parse_artifact_name(name)
    if parsed is not None:
        assert artifact_name(*parsed) == name
        assert parsed[0] is None or 0 <= parsed[0] <= MAX_ID
        assert uuid_of(name) == parsed[1]


@given(folders, names, st.text(max_size=8))
def test_no_key_crashes_and_only_files_of_an_area_become_candidates(
    folder: str, name: str, root_name: str
) -> None:
    """R1: UUID and layout go together, and never without the folder for it."""
    place = place_of_folder(folder, root_name)
    found = recognise(name, place)
    is_flat = found.layout in {DirectoryLayout.FLAT, DirectoryLayout.FLAT_WITH_ID}
    area = area_at(place)
    if found.uuid is not None:
        assert area is not None
        assert found.layout in {
            area.layout,
            DirectoryLayout.FLAT_WITH_ID,
            DirectoryLayout.METADATA_IN_PROGRESS,
        }
        assert name.endswith(artifact_name(None, found.uuid))
    assert (found.checkpoint_id is not None) is (found.layout is DirectoryLayout.FLAT_WITH_ID)
    if is_flat:
        assert found.uuid is not None
        assert artifact_name(found.checkpoint_id, found.uuid) == name
        assert (place.scope, place.inner) == (Scope.SHARED, "")


@given(folders, st.text(max_size=8))
@example(f"{'4ae4a298' * 4}/op_x__1_4__attempt_0", "")
def test_a_place_puts_together_to_the_folder_that_it_was(folder: str, root_name: str) -> None:
    """R3: nothing of a key is lost or made up: directory, area and inner path are the folder."""
    place = place_of_folder(folder, root_name)
    if place.job_directory is None or place.scope is Scope.OTHER:
        return
    areas = {
        **FOLDERS,
        Scope.EXCLUSIVE: f"{CHECKPOINT}{place.checkpoint_id}",
        Scope.FORST: "",  # a working folder is no area's: its name is part of the inner path
    }
    above = "/".join(part for part in (place.job_directory, areas[place.scope]) if part)
    assert f"{folder}/".startswith(f"{above}/" if above else "")
    assert folder.removeprefix(above).strip("/") == place.inner.strip("/")
    assert bool(place.inner) is (folder != above)
    owner = place.job_directory.rpartition("/")[2] if place.job_directory else root_name
    assert place.job_id in {"", owner}


@given(folders, flat_names, st.text(min_size=1, max_size=5))
def test_a_folder_deeper_is_never_flat(folder: str, name: str, extra: str) -> None:
    """R1: directly in ``shared/``, so one more folder that opens no area ends it."""
    place = place_of_folder(folder)
    deeper = place_of_folder(f"{folder}/{extra}")
    if place.scope is Scope.SHARED and not place.inner:
        assert recognise(name, deeper).uuid is None


@given(keys)
def test_a_key_below_a_root_is_found_again(key: str) -> None:
    """Losses 1.1 (lakeFS#4658): the round trip of relative and absolute."""
    assert BASE.key_of(BASE.child(key)) == key
    assert canonical(f"s3a://bucket/checkpoints//{key}/") == BASE.child(key)


@given(st.text(max_size=40))
def test_any_text_is_a_place_or_refused(text: str) -> None:
    """Losses 1.1: a place is absolute, with one slash between parts and none at the end."""
    try:
        place = canonical(text)
    except ValueError:
        return
    assert place.path.startswith("/")
    assert "//" not in place.path
    assert place.path == "/" or not place.path.endswith("/")
    assert not {".", ".."} & set(place.path.split("/"))
    assert canonical(str(place)) == place


@given(keys, keys)
def test_no_place_contains_its_neighbour(one: str, other: str) -> None:
    """Losses 1.4: whole parts; ``dmf_2`` and ``dmf_27``."""
    base, place = BASE.child(one), BASE.child(other)
    parts, of_base = other.split("/"), one.split("/")
    assert base.contains(place) is (parts[: len(of_base)] == of_base)


@given(keys, keys)
def test_an_alias_keeps_what_lies_below_it(source: str, key: str) -> None:
    """R5: the base name, hence the UUID, survives every alias."""
    alias = Alias(BASE.child(source), Location("file", "", "/mnt/x"))
    moved = canonical(str(BASE.child(source).child(key)), [alias])
    assert alias.target.key_of(moved) == key
    assume(not BASE.child(source).contains(BASE.child(key)))
    assert canonical(str(BASE.child(key)), [alias]) == BASE.child(key)
