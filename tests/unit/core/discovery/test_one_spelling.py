"""Two names of one directory are one place."""

from flinkstate.places.locations import Location, canonical
from orphangc.core.discovery.discovered_facts import (
    DirectoryFact,
    DirectoryUse,
    Discovery,
    Origin,
    PinFact,
    ResourceFacts,
)
from orphangc.core.discovery.one_spelling import spelled_once, spellings

ORIGIN = Origin(kind="File", namespace="", name="x")
LINKS = {"/link": "/data/flink", "/other": "/data"}


def real(place: Location) -> Location:
    for link, target in LINKS.items():
        key = canonical(link).key_of(place)
        if key is not None:
            return canonical(target).child(key)
    return place


def resource(*directories: str, pins: tuple[str, ...] = ()):
    return ResourceFacts(
        origin=ORIGIN,
        directories=tuple(
            DirectoryFact(uri=each, use=DirectoryUse.CHECKPOINTS, origin=ORIGIN)
            for each in directories
        ),
        pins=tuple(PinFact(uri=each, origin=ORIGIN) for each in pins),
    )


def once(found: ResourceFacts, *configured: str) -> ResourceFacts:
    aliases = spellings([found], configured, real=real)
    return spelled_once(Discovery(resources=(found,)), aliases).resources[0]


def uris(found: ResourceFacts) -> list[str]:
    return [each.uri for each in found.directories]


def test_a_directory_has_the_spelling_without_links() -> None:
    """So two configurations that name it differently name one place."""
    assert uris(once(resource("/link", "/data/flink"))) == ["/data/flink"] * 2


def test_a_storage_root_by_hand_keeps_its_spelling() -> None:
    """It is that of its state location; what is below it is spelled below it."""
    found = resource("/data/flink", "/link", "/other/flink/sub")
    assert uris(once(found, "/link")) == ["/link", "/link", "/link/sub"]
    assert uris(once(found, "/data/flink")) == ["/data/flink", "/data/flink", "/data/flink/sub"]


def test_what_lies_below_another_spelling_is_spelled_in_the_same_way() -> None:
    """Pins, too."""
    found = once(resource("/link", pins=("/link/a/chk-1",)))
    assert [each.uri for each in found.pins] == ["/data/flink/a/chk-1"]


def test_places_of_other_stores_are_left_as_they_are() -> None:
    """Nothing resolves them."""
    found = resource("s3://b/x", "/data/else", pins=("s3://b/y",))
    assert once(found, "s3://b/x") == found


def test_the_spelling_of_the_innermost_link_counts() -> None:
    """A link inside a linked directory leads elsewhere."""
    links = {canonical("/link"): canonical("/data"), canonical("/link/deep"): canonical("/far")}
    found = resource("/link", "/link/deep")
    aliases = spellings([found], (), real=lambda place: links.get(place, place))
    (spelled,) = spelled_once(Discovery(resources=(found,)), aliases).resources
    assert uris(spelled) == ["/data", "/far"]


def test_other_spellings_stand_in_one_order() -> None:
    """The longest first, then by name."""
    links = {canonical(each): canonical("/cc") for each in ("/aa", "/zz")}
    links[canonical("/bb")] = canonical("/dd")
    found = resource("/aa", "/bb")
    aliases = spellings([found], ["/zz"], real=lambda place: links.get(place, place))
    assert [str(each.source) for each in aliases] == ["/aa", "/bb", "/cc"]
