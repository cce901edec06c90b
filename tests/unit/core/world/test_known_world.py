"""The world's JSON form, which is contract."""

import pytest
from pydantic import ValidationError

from orphangc.core.world.known_world import (
    ClosedWorld,
    KnownCluster,
    OutsidePath,
    PlaceKind,
    SearchedPlace,
    SearchedStorage,
    World,
    WorldChange,
)

PLACE = SearchedPlace(
    uri="s3://bucket/checkpoints",
    kind=PlaceKind.STORAGE_ROOT,
    device="s3://bucket",
    job_directories=2,
    checkpoints=3,
)


def test_the_json_form_is_the_contracts() -> None:
    """Exactly these keys, so that others can read it."""
    world = World(
        places=(PLACE,),
        storages=(SearchedStorage(uri="s3://bucket/", keys=9, left_out=("s3://bucket/logs",)),),
        outside=(OutsidePath(uri="s3://old/a", named_by=("s3://b/chk-1",), jobs=("a",)),),
        clusters=(KnownCluster(uri="http://jm:8081", jobs=("a",), answers=True),),
        changed=(WorldChange(condition="place_lost", what="s3://old", since=None),),
        closed_world=ClosedWorld(stated=True, covers=("s3://bucket/checkpoints",)),
    )
    assert world.model_dump(mode="json") == {
        "places": [
            {
                "uri": "s3://bucket/checkpoints",
                "kind": "storage_root",
                "device": "s3://bucket",
                "job_directories": 2,
                "checkpoints": 3,
                "newest_checkpoint_at": None,
                "since": None,
            }
        ],
        "storages": [
            {
                "uri": "s3://bucket/",
                "named_by": [],
                "keys": 9,
                "checkpoints": None,
                "tables": 0,
                "newest_checkpoint_at": None,
                "left_out": ["s3://bucket/logs"],
                "problem": None,
            }
        ],
        "outside": [{"uri": "s3://old/a", "named_by": ["s3://b/chk-1"], "jobs": ["a"]}],
        "clusters": [{"uri": "http://jm:8081", "jobs": ["a"], "answers": True, "problem": None}],
        "changed": [
            {"condition": "place_lost", "what": "s3://old", "since": None, "acknowledged": False}
        ],
        "closed_world": {"stated": True, "covers": ["s3://bucket/checkpoints"]},
    }
    assert World.model_validate_json(world.model_dump_json()) == world


def test_an_unknown_key_is_refused() -> None:
    """A world of another version is not read in part."""
    with pytest.raises(ValidationError, match="extra"):
        SearchedPlace(**PLACE.model_dump(), more=1)


@pytest.mark.parametrize("kind", ["storage_root", "extra_root", "sibling", "reported"])
def test_the_kinds_are_the_contracts(kind) -> None:
    assert PlaceKind(kind) == kind
