"""Two spellings of one place are equal, and two places never are."""

from itertools import islice

import pytest

from flinkstate.places.locations import (
    UNREADABLE,
    Alias,
    Location,
    StoreKind,
    canonical,
    kind_of,
    parse_alias,
    place_of,
    places_of,
)
from support.builders import JOB

AZURE = "container@account.dfs.core.windows.net"


@pytest.mark.parametrize(
    ("given", "stored"),
    [
        ("file:///tmp/ck/a", "file:/tmp/ck/a"),
        ("file:/tmp/ck/a", "file:/tmp/ck/a"),
        ("hdfs://nn:8020/ck/a", "hdfs://nn:8020/ck/a"),
        ("hdfs:///ck/a", "hdfs:/ck/a"),
        ("s3://b//x//y/", "s3://b/x/y"),
        ("s3a://b/k", "s3a://b/k"),
        ("s3p://b/k", "s3p://b/k"),
        ("oss://b/k", "oss://b/k"),
        ("gs://b/k", "gs://b/k"),
        ("viewfs://c/k", "viewfs://c/k"),
        (f"abfs://{AZURE}/k", f"abfs://{AZURE}/k"),
        (f"abfss://{AZURE}/k", f"abfss://{AZURE}/k"),
        ("wasb://c@a.blob.core.windows.net/k", "wasb://c@a.blob.core.windows.net/k"),
        (f"abfs://{AZURE}/k", "wasbs://container@account.blob.core.windows.net/k"),
        (f"abfs://{AZURE}/%41 ü/k", "az://container@account.dfs.core.windows.net/%41 ü//k"),
        (f"abfs://{AZURE}/k", "ABFSS://Container@Account.DFS.core.windows.net/k"),
        ("az://c/k", "abfss://c/k"),
        ("abfs://c@a.z7.dfs.storage.azure.net/k", "wasbs://c@A.Z7.blob.storage.azure.net/k"),
        ("s3://b/with space/%41/ü€/n", "s3://b/with space/%41/ü€/n"),
        ("/tmp/ck/a", "/tmp/ck/a"),
    ],
)
def test_what_is_given_to_flink_and_what_flink_stores_are_one_place(given, stored) -> None:
    """Row by row."""
    assert canonical(given) == canonical(stored)


@pytest.mark.parametrize(
    ("uri", "place"),
    [
        ("s3://b/x/y", Location("s3", "b", "/x/y")),
        ("s3://b", Location("s3", "b", "/")),
        ("s3://b/", Location("s3", "b", "/")),
        ("S3A://b/k", Location("s3", "b", "/k")),
        ("hdfs://nn:8020/ck", Location("hdfs", "nn:8020", "/ck")),
        ("hdfs:/ck", Location("hdfs", "", "/ck")),
        ("file:/tmp/ck", Location("file", "", "/tmp/ck")),
        ("file://localhost/tmp/ck", Location("file", "", "/tmp/ck")),
        ("local:///tmp/ck", Location("file", "", "/tmp/ck")),
        ("/tmp/ck/", Location("file", "", "/tmp/ck")),
        ("/", Location("file", "", "/")),
        ("///tmp//ck", Location("file", "", "/tmp/ck")),
        ("s3://b/a/./b/../c", Location("s3", "b", "/a/c")),
        ("s3://b/../../c", Location("s3", "b", "/c")),
        ("s3://b/a\\b", Location("s3", "b", "/a/b")),
        ("s3://b/k?versionId=1#x", Location("s3", "b", "/k?versionId=1#x")),
        ("s3://b/a:b/c", Location("s3", "b", "/a:b/c")),
        ("/a:b/c", Location("file", "", "/a:b/c")),
        ("s3://b/[ab]*/?", Location("s3", "b", "/[ab]*/?")),
    ],
)
def test_a_uri_is_split_as_flinks_path_splits_it(uri: str, place: Location) -> None:
    """Scheme, authority, path; query and fragment are part of the path."""
    assert canonical(uri) == place


def test_every_spelling_of_a_local_file_is_one_place() -> None:
    """Losses 1.1 (Amoro#877): a URI compared with a plain path makes every file an orphan."""
    spellings = ("/x/y", "file:/x/y", "file:///x/y", "file:////x//y/", "FILE:/x/y", "local:/x/y")
    assert len({canonical(each) for each in spellings}) == 1


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("s3://b/%41", "s3://b/A"),
        ("s3://b/a%2Fb", "s3://b/a/b"),
        ("s3://b/a+b", "s3://b/a b"),
        ("s3://b/K", "s3://b/k"),
        ("s3://b/\u00fc", "s3://b/u\u0308"),
        ("s3://b/k", "gs://b/k"),
        ("s3://b/k", "s3://c/k"),
        ("s3://b/k ", "s3://b/k"),
        ("s3://b/k", "/b/k"),
        ("hdfs://nn:8020/k", "hdfs:///k"),
        ("hdfs://nn/k", "hdfs://nn:8020/k"),
        ("abfs://c@a.dfs.core.windows.net/k", "abfs://c@a.dfs.core.chinacloudapi.cn/k"),
        ("abfs://c@a.dfs.core.windows.net/k", "abfs://c@b.dfs.core.windows.net/k"),
        ("abfs://c@a.dfs.core.windows.net/k", "abfs://d@a.dfs.core.windows.net/k"),
        ("abfs://c@a.dfs.core.windows.net/k", "az://c/k"),
        ("abfs://c@a.z7.dfs.storage.azure.net/k", "abfs://c@a.z8.dfs.storage.azure.net/k"),
        ("abfs://c@a.dfs.core.windows.net/k", "abfs://c@a-secondary.dfs.core.windows.net/k"),
        ("gs://b/k", "gs://b/k\u200b"),
        ("s3://key@b/k", "s3://b/k"),
    ],
)
def test_different_places_stay_different(one: str, other: str) -> None:
    """Nothing is percent-decoded, folded or guessed."""
    assert canonical(one) != canonical(other)


@pytest.mark.parametrize("uri", ["", "x", "x/y", "./x", "s3:b/k", "file:x", ":", "://", "C:x"])
def test_a_relative_place_is_refused(uri: str) -> None:
    """Losses 1.1 (lakeFS#4658): relative against what? Nobody guesses."""
    with pytest.raises(ValueError, match="neither an absolute path nor a URI"):
        canonical(uri)


@pytest.mark.parametrize("uri", ["file://data/ck", "//data/ck", "local://data/ck", "file://d"])
def test_a_local_path_with_a_host_is_refused(uri: str) -> None:
    """Mostly ``file:///data/ck`` with a slash too few: as a pin it would protect ``/ck``."""
    with pytest.raises(ValueError, match="names a host"):
        canonical(uri)


@pytest.mark.parametrize(
    ("base", "other", "key"),
    [
        ("s3://b/ck", "s3a://b/ck/x/y", "x/y"),
        ("s3://b/ck/", "s3://b/ck/x", "x"),
        ("s3://b/ck", "s3://b/ck", ""),
        ("s3://b", "s3://b/x", "x"),
        ("/", "/x/y", "x/y"),
        ("/", "/", ""),
        ("s3://b/dmf_2", "s3://b/dmf_27/x", None),
        ("s3://b/dmf_2", "s3://b/dmf_27", None),
        ("s3://b/dmf_27", "s3://b/dmf_2", None),
        ("s3://b/ck/x", "s3://b/ck", None),
        ("s3://b/ck", "s3://c/ck/x", None),
        ("s3://b/ck", "gs://b/ck/x", None),
        ("s3://b/ck", "s3://b/ck/../other/x", None),
        ("hdfs://nn:8020/ck", "hdfs://nn/ck/x", None),
    ],
)
def test_a_key_is_relative_to_whole_path_parts(base: str, other: str, key: str | None) -> None:
    """Losses 1.4 (TiFlash#7128): ``dmf_2`` is no prefix of ``dmf_27``."""
    assert canonical(base).key_of(canonical(other)) == key
    assert canonical(base).contains(canonical(other)) is (key is not None)


@pytest.mark.parametrize("base", ["s3://b", "s3://b/ck", "/", "/tmp/ck", "hdfs:/ck"])
@pytest.mark.parametrize("key", ["x", f"{JOB}/shared/a b", "x/%41", "ü/*", "x:y"])
def test_a_child_is_found_again_by_its_key(base: str, key: str) -> None:
    """Losses 1.1 (ClickHouse#113548): a key short by one separator makes all orphans."""
    place = canonical(base)
    assert place.key_of(place.child(key)) == key
    assert place.child(key).name == key.rpartition("/")[2]


def test_a_child_has_no_trailing_slash_and_keeps_every_letter() -> None:
    """A blank at the end is a part of the name, and so is an X."""
    base = canonical("s3://b/ck")
    for key in ("x", "X", "x ", " x", "x\n"):
        assert base.child(f"{key}/") == base.child(key) == Location("s3", "b", f"/ck/{key}")
    assert base.child("") == base


@pytest.mark.parametrize(
    ("uri", "spelled"),
    [
        ("s3a://b/x", "s3://b/x"),
        ("s3://b", "s3://b/"),
        ("file:/x/y/", "/x/y"),
        ("hdfs:/ck", "hdfs:///ck"),
    ],
)
def test_a_place_spells_itself_for_fsspec_and_back(uri: str, spelled: str) -> None:
    """One spelling in plans and logs, which reads back as the same place."""
    assert str(canonical(uri)) == spelled
    assert canonical(spelled) == canonical(uri)


@pytest.mark.parametrize(
    ("uri", "spelled"),
    [
        ("s3://old/ck", "s3://new/data"),
        ("s3a://old/ck/", "s3://new/data"),
        ("s3://old/ck/x/y", "s3://new/data/x/y"),
        ("s3://old/ck2/x", "s3://old/ck2/x"),
        ("s3://old", "s3://old/"),
        ("gs://old/ck/x", "gs://old/ck/x"),
    ],
)
def test_an_alias_moves_what_lies_below_its_source(uri: str, spelled: str) -> None:
    """R5: whole path parts only, with any scheme of the family."""
    assert str(canonical(uri, [parse_alias("s3://old/ck=s3://new/data")])) == spelled


def test_only_the_first_fitting_alias_is_applied_and_only_once() -> None:
    """Losses 1.1 (DuckLake#1105): the table is explicit; it is no rewriting system."""
    aliases = [parse_alias("s3://a=s3://b"), parse_alias("s3://b=s3://c")]
    assert str(canonical("s3://a/x", aliases)) == "s3://b/x"
    assert str(canonical("s3://b/x", aliases)) == "s3://c/x"
    swap = [parse_alias("s3://a=s3://b"), parse_alias("s3://b=s3://a")]
    assert str(canonical("s3://a/x", swap)) == "s3://b/x"


def test_an_alias_maps_an_empty_authority_to_a_name_service() -> None:
    """HDFS's default authority must be mapped explicitly."""
    alias = parse_alias("hdfs:/ck=hdfs://nn:8020/ck")
    assert canonical("hdfs:///ck/x", [alias]) == canonical("hdfs://nn:8020/ck/x")


def test_an_alias_states_two_places() -> None:
    """Option ``--alias FROM=TO``."""
    assert parse_alias("s3a://a/x=/mnt/x") == Alias(canonical("s3://a/x"), canonical("/mnt/x"))
    assert parse_alias("s3://a=/mnt/b=c") == Alias(canonical("s3://a"), canonical("/mnt/b=c"))


def test_a_place_that_is_none_is_none() -> None:
    """Flink has words for "no place"; what names one is moved by the aliases."""
    assert place_of(None) is None
    assert place_of("<checkpoint-not-externally-addressable>") is None
    aliases = [parse_alias("s3://old=s3://new")]
    assert place_of("s3a://old/x", aliases) == canonical("s3://new/x")
    assert place_of("s3a://old/x") == canonical("s3://old/x")
    assert [*places_of(["s3://old/x", None, "x"], aliases)] == [canonical("s3://new/x")]


@pytest.mark.parametrize("text", ["", "=", "s3://a", "s3://a=", "=s3://a", "a=s3://b", "s3://a=b"])
def test_an_alias_that_is_none_is_refused(text: str) -> None:
    """A misspelt alias would make live files look foreign."""
    with pytest.raises(ValueError, match=r"alias|neither"):
        parse_alias(text)


def test_the_folders_that_a_place_lies_in_end_at_the_top() -> None:
    """Innermost first, and the place itself before them."""
    place = canonical("s3://bucket/a/b")
    shown = [str(each) for each in islice(place.upwards(), 9)]
    assert shown == ["s3://bucket/a/b", "s3://bucket/a", "s3://bucket/"]
    assert place.parent.parent == place.top == place.top.parent
    assert list(islice(place.top.upwards(), 9)) == [place.top]


@pytest.mark.parametrize(
    ("one", "other", "may"),
    [
        ("az://c/cp", "abfs://c@a.dfs.core.windows.net/cp/state", True),
        ("abfs://c@a.dfs.core.windows.net/cp", "az://c/cp/state", True),
        ("abfs://c@a.dfs.core.windows.net/cp", "abfs://c@b.dfs.core.windows.net/cp/state", False),
        ("abfs://d@a.dfs.core.windows.net/cp", "az://c/cp/state", False),
        ("az://c/cp", "az://c/cpx", False),
        ("s3://c/cp", "s3://k@c/cp/state", False),
        ("hdfs:///cp", "hdfs://nn:8020/cp/state", True),
        ("hdfs://nn:8020/cp", "hdfs:///cp/state", True),
        ("hdfs://nn:8020/cp", "hdfs://nn/cp/state", True),
        ("hdfs://NN:8020/cp", "hdfs://nn:8020/cp/state", True),
        ("hdfs://nn:8020/cp", "hdfs://mm:8020/cp/state", False),
        ("hdfs://flink@nn:8020/cp", "hdfs://nn:8020/cp/state", True),
        ("hdfs://nn/cp", "hdfs://flink@nn:8020/cp/state", True),
        ("hdfs://a@nn/cp", "hdfs://b@nn/cp/state", True),
        ("hdfs://flink@nn:8020/cp", "hdfs://flink@mm:8020/cp/state", False),
        ("hdfs://nn:8020/cp", "hdfs://n/cp/state", False),
        ("hdfs:///cp", "viewfs://nn/cp/state", False),
    ],
)
def test_what_a_place_leaves_out_may_be_any(one: str, other: str, *, may: bool) -> None:
    """Account, name service, port or user, which the environment names; two named are two."""
    assert canonical(one).may_be_around(canonical(other)) is may


SPELLED = {
    StoreKind.BUCKET: {"s3", "s3a", "s3n", "s3p", "gs", "gcs", "oss", "cosn", "obs"},
    StoreKind.CONTAINER: {"abfs", "abfss", "az", "wasb", "wasbs"},
    StoreKind.FILE_SYSTEM: {"file", "local", "hdfs", "viewfs"},
    None: {"memory", "http", UNREADABLE, "s3x", ""},
}
"""What each scheme decides: which storage is searched, and whose user part is no credential."""


@pytest.mark.parametrize(
    ("kind", "scheme"),
    [(kind, each) for kind, schemes in SPELLED.items() for each in sorted(schemes)],
)
def test_a_scheme_says_of_what_kind_its_storage_is(kind: StoreKind | None, scheme: str) -> None:
    """Of one that is not listed nothing is taken for granted."""
    assert kind_of(scheme) is kind
    if scheme:
        place = canonical(f"{scheme}:///x")
        assert place.kind is kind
        assert place.is_in_object_store is (kind in {StoreKind.BUCKET, StoreKind.CONTAINER})
