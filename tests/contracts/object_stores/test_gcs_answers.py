"""What Google Cloud Storage answers, and its testbench never does: damage, throttling, batches."""

import json
import sys
from functools import partial

import pytest
from google.oauth2.credentials import Credentials

from contracts.servers.gcs import as_json, refusal
from contracts.servers.stub import Answer, Request
from orphangc.adapters.gcs.requests import part_error
from orphangc.adapters.object_store.answers import batch_results
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import SettingsError, StorageUnreachableError
from orphangc.ports import DeletionStatus

BATCH = "/batch/storage/v1"


def is_listing(request: Request) -> bool:
    return request.method == "GET" and request.path.endswith("/o")


WHOLE = {
    "kind": "storage#objects",
    "items": [
        {"name": "cp/a", "size": "7", "timeCreated": "2026-01-02T03:04:05.678Z", "generation": "1"}
    ],
}
DAMAGED = {
    "cut off": json.dumps(WHOLE)[:-9],
    "no object": "[]",
    "another kind": json.dumps({**WHOLE, "kind": "storage#buckets"}),
    "nothing": "",
    "elsewhere": json.dumps(WHOLE).replace("cp/a", "other/a"),
    "no number": json.dumps(WHOLE).replace('"7"', '"seven"'),
    **{
        f"no {name}": json.dumps(WHOLE).replace(f'"{name}"', '"else"')
        for name in ("name", "size", "generation")
    },
    "items of no form": json.dumps({**WHOLE, "items": ["a"]}),
    "itself": json.dumps({**WHOLE, "nextPageToken": "again"}),
    "items twice": json.dumps(WHOLE)[:-1] + ', "items": []}',
    "token twice": '{"nextPageToken": "1", "nextPageToken": "", ' + json.dumps(WHOLE)[1:],
    "no list": json.dumps({**WHOLE, "items": {}}),
    "no folders": json.dumps({**WHOLE, "prefixes": None}),
    "no token": json.dumps({**WHOLE, "nextPageToken": []}),
    "no text": json.dumps(WHOLE).replace('"cp/a"', "5"),
    "no unicode": json.dumps(WHOLE).replace("cp/a", "cp/\\ud800"),
    "too large": json.dumps(WHOLE).replace('"7"', "9" * 30),
    "nested": "[" * 100_000,
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_page_is_an_error_and_never_a_shorter_listing(server, place, damage) -> None:
    """Whatever is cut off or out of place."""
    place.put("a")
    server.fault = lambda request: Answer(DAMAGED[damage]) if is_listing(request) else None
    storage = place.open()
    with pytest.raises(StorageUnreachableError):
        list(storage.objects())
    with pytest.raises(StorageUnreachableError):
        storage.folder()


@pytest.mark.parametrize(
    "shown",
    [{"items": [{**WHOLE["items"][0], "name": "cp/a/b/_metadata"}]}, {"prefixes": ["cp/a"]}],
    ids=["no delimiter", "no slash"],
)
def test_a_level_that_shows_another_one_is_an_error(server, place, shown) -> None:
    """What is in a folder that was not shown is not searched."""
    answer = Answer(json.dumps({**WHOLE, **shown}))
    server.fault = lambda request: answer if is_listing(request) else None
    with pytest.raises(StorageUnreachableError):
        place.open().folder()


def test_an_answer_that_breaks_off_is_requested_again(server, place) -> None:
    """A few times; then the listing has failed."""
    place.put("a")
    broken = [Answer("{", length=99), refusal(503, "busy"), refusal(429, "rate")]
    server.fault = lambda request: broken.pop(0) if is_listing(request) and broken else None
    assert len([*place.open().objects()]) == 1
    server.fault = lambda _: refusal(503, "busy")
    with pytest.raises(StorageUnreachableError, match="busy"):
        list(place.open().objects())


def test_an_unknown_time_is_no_time(server, place) -> None:
    """What has no time is never old."""
    late = json.dumps(WHOLE).replace("2026-", "0001-")
    server.fault = lambda request: Answer(late) if is_listing(request) else None
    (rows,) = place.open().objects()
    assert rows["modified_at"].to_pylist() == [None]


def test_a_range_asks_for_its_own_names_only(server, place) -> None:
    """By offsets, and once."""
    place.put_all([f"{number:03}" for number in range(50)])
    storage = place.open()
    assert storage.is_ordered
    server.requests.clear()
    (rows,) = storage.pages(KeyRange("010", "012"))
    assert rows["key"].to_pylist() == ["011", "012"]
    (asked,) = server.requests
    assert asked.query["startOffset"] == "cp/010"
    assert asked.query["endOffset"] == "cp/012\x01"


def test_a_store_that_ignores_where_to_begin_has_no_order(server, place) -> None:
    """One cursor lists all of it."""
    place.put_all(["a", "b", "c"])

    def forget(request: Request) -> None:
        request.query.pop("startOffset", None)

    server.fault = forget
    assert not place.open().is_ordered


def test_a_batch_has_one_result_for_each_key(server, place) -> None:
    """In any order of its parts; what the store is busy with is no failure."""
    keys = ["busy", "changed", "fine", "gone", "held", "broken"]
    place.put_all(keys)
    storage = place.open()
    judged = storage.stat(keys)
    faults = {
        "busy": refusal(429, "rate"),
        "changed": refusal(412, "conditionNotMet"),
        "gone": refusal(404, "No such object"),
        "held": refusal(403, "under a hold"),
        "broken": refusal(500, "internal"),
    }
    server.fault = lambda request: (
        faults.get(request.path.rpartition("%2F")[2]) if request.method == "DELETE" else None
    )
    found = {each.key: each for each in storage.delete(judged)}
    assert {key: each.status for key, each in found.items()} == {
        "busy": DeletionStatus.REFUSED,
        "changed": DeletionStatus.CHANGED,
        "fine": DeletionStatus.DELETED,
        "gone": DeletionStatus.GONE,
        "held": DeletionStatus.FAILED,
        "broken": DeletionStatus.UNKNOWN,
    }
    assert found["held"].error == "under a hold"
    assert found["fine"].version_id == judged[2].etag
    assert len(server.asked("POST", BATCH)) == 1


def test_a_service_without_batches_is_asked_for_each(server, place) -> None:
    """What refuses a whole batch has deleted none of it; it is asked for none again."""
    server.has_batches = False
    place.put_all(["a", "b", "c", "d"])
    storage = place.open()
    for keys in (["a", "b"], ["c", "d"]):
        found = storage.delete(storage.stat(keys))
        assert {each.status for each in found} == {DeletionStatus.DELETED}
    assert (len(server.asked("POST", BATCH)), len(server.asked("DELETE"))) == (1, 4)
    assert all("ifGenerationMatch" in each.query for each in server.asked("DELETE"))


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (refusal(503, "carried out, and not said"), DeletionStatus.UNKNOWN),
        (refusal(429, "rate"), DeletionStatus.REFUSED),
        (refusal(500, "internal"), DeletionStatus.UNKNOWN),
        (Answer("cut", 200, {"Content-Type": "multipart/mixed; boundary=b"}, 99),
         DeletionStatus.UNKNOWN),
        (Answer("not what it says", 200), DeletionStatus.UNKNOWN),
    ],
)  # fmt: skip
def test_a_batch_without_a_usable_answer_is_sent_once(server, place, answer, status) -> None:
    """The caller alone repeats it, more slowly."""
    place.put_all(["a", "b"])
    storage = place.open()
    judged = storage.stat(["a", "b"])
    server.fault = lambda request: answer if request.path == BATCH else None
    assert [each.status for each in storage.delete(judged)] == [status] * 2
    assert len(server.asked("POST", BATCH)) == 1
    assert server.asked("DELETE") == []


REDIRECTIONS = [(code, where) for code in (301, 302, 303, 304, 307) for where in ("", "/login")]


def redirected(request: Request, code: int, where: str) -> Answer | None:
    """Send a request that is to change something on to a page of something on the way."""
    if request.path == "/login":
        return Answer("<html>Sign in</html>")
    is_read = request.method == "GET"
    return None if is_read else Answer("", code, {"Location": where} if where else {})


@pytest.mark.parametrize(
    "answer",
    [
        lambda _: refusal(500, "x"),
        *(partial(redirected, code=code, where=where) for code, where in REDIRECTIONS),
    ],
)
def test_a_single_deletion_is_sent_once(server, place, answer) -> None:
    """An answer that was lost, or is not the store's, leaves the outcome unknown."""
    place.put("a")
    storage = place.open()
    judged = storage.stat(["a"])
    server.fault = lambda request: None if request.method == "GET" else answer(request)
    (found,) = storage.delete(judged)
    assert found.status is DeletionStatus.UNKNOWN
    assert len(server.asked("DELETE")) == 1


@pytest.mark.parametrize(("code", "where"), REDIRECTIONS)
def test_a_lock_that_a_redirection_swallowed_is_not_ours(server, place, code, where) -> None:
    """A proxy sends a write to its page for signing in, by GET: nothing was written."""
    state = open_state_files(place.state_uri, is_probed=False)
    server.fault = partial(redirected, code=code, where=where)
    with pytest.raises(StorageUnreachableError):
        state.create("lock", b"mine")


def test_results_that_contradict_or_lack_are_unknown() -> None:
    """Neither a result that comes twice counts, nor one that does not come."""

    def part(number: object, status: int) -> str:
        return (
            "--b\r\nContent-Type: application/http\r\n"
            f"Content-ID: <response-x+{number}>\r\n\r\nHTTP/1.1 {status} told\r\n\r\n\r\n"
        )

    body = part(0, 204) + part(1, 204) + part(1, 404) + part(9, 204) + part("x", 204) + "--b--"
    found = batch_results("multipart/mixed; boundary=b", body.encode(), 3, part_error)
    assert found[0] is None
    assert [each.deletion_status for each in found[1:]] == [DeletionStatus.UNKNOWN] * 2


def test_an_answer_to_no_range_is_no_part_of_an_object(server, place) -> None:
    """A page of a proxy would show how another object begins; all of a short one is a part."""
    place.put("a", b"part")
    storage = place.open()
    for body, found in ((b"part", b"part"), (b"", b"")):
        server.fault = lambda request, body=body: (
            Answer(body) if request.query.get("alt") == "media" else None
        )
        assert storage.part("a", start=0, size=4) == found
    for fault in (Answer("<html>log in</html>"), Answer(b"par", 206)):
        server.fault = lambda request, fault=fault: (
            fault if request.query.get("alt") == "media" else None
        )
        for start in (0, 4):
            with pytest.raises(StorageUnreachableError, match="in parts"):
                storage.part("a", start=start, size=4)


def test_state_is_not_read_to_be_deleted(server, place) -> None:
    """Decision 18: where facts may not be read, a listing of the one name shows them."""
    place.put_all(["a", "ab"])
    server.fault = lambda request: (
        refusal(403, "storage.objects.get denied")
        if request.method == "GET" and "/o/" in request.path
        else None
    )
    storage = place.open()
    (fact, absent) = storage.stat(["a", "b"])
    assert (fact.size, absent) == (5, None)
    (found,) = storage.delete([fact])
    assert found.status is DeletionStatus.DELETED
    assert place.keys() == {"ab"}


def test_a_soft_deleted_object_is_restored(server, place) -> None:
    """Where no noncurrent generation is kept, and only if no object has the name."""
    place.put("a")
    storage = place.open()
    (fact,) = storage.stat(["a"])
    storage.delete([fact])
    restored: list[Request] = []

    def fault(request: Request) -> Answer | None:
        if request.path.endswith("/restore"):
            restored.append(request)
            place.put("a")
            return as_json({})
        is_asked = request.query.get("softDeleted") == "true"
        return as_json({"generation": fact.etag}) if is_asked else None

    server.fault = fault
    assert storage.undelete([("a", "1")])[0].status is DeletionStatus.FAILED
    (found,) = storage.undelete([("a", fact.etag)])
    assert found.status is DeletionStatus.DELETED
    (request,) = restored
    assert request.query == {"generation": fact.etag, "ifGenerationMatch": "0"}
    assert storage.undelete([("a", fact.etag)])[0].status is DeletionStatus.GONE


@pytest.mark.parametrize(
    ("settings", "is_kept"),
    [
        ({"versioning": {"enabled": True}}, True),
        ({"softDeletePolicy": {"retentionDurationSeconds": "604800"}}, True),
        ({"softDeletePolicy": {"retentionDurationSeconds": "0"}}, False),
        ({}, False),
        (None, False),
    ],
)
def test_a_bucket_keeps_versions_or_deleted_objects(server, place, settings, is_kept) -> None:
    """What may not be asked is not promised."""
    answer = refusal(403, "storage.buckets.get denied") if settings is None else as_json(settings)
    server.fault = lambda request: None if "/o" in request.path else answer
    assert place.open().is_versioned is is_kept


def test_a_lock_whose_answer_was_lost_is_ours(server, place) -> None:
    """The request is repeated; the mark on the object shows who wrote it."""
    lost = [True]

    def fault(request: Request) -> Answer | None:
        if "/upload/" in request.path and lost:
            lost.clear()
            server._one(request)
            return refusal(503, "written, and not said")
        return None

    state = open_state_files(place.state_uri, is_probed=False)
    server.fault = fault
    assert state.create("lock", b"mine")
    assert not state.create("lock", b"other")
    assert state.read("lock") == b"mine"


def test_a_missing_extra_is_named(monkeypatch) -> None:
    for module in [name for name in sys.modules if name.startswith("orphangc.adapters.gcs")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "gcsfs.core", None)
    for opened in (open_storage, open_state_files):
        with pytest.raises(SettingsError, match=r"pip install 'orphangc\[gcs\]'"):
            opened("gs://bucket/x")


def test_a_token_of_fsspecs_settings_signs_requests(server, place, monkeypatch) -> None:
    """Credentials are the file system's own; a token is in no message."""
    place.put("a")
    monkeypatch.setattr("orphangc.adapters.storage_options._stated", {
        place.open().location.top: {"token": Credentials("hunter2"), "requester_pays": "payer"}
    })  # fmt: skip
    server.requests.clear()
    storage = place.open()
    assert storage.stat(["a"])[0] is not None
    assert {each.headers["authorization"] for each in server.requests} == {"Bearer hunter2"}
    assert {each.query["userProject"] for each in server.requests} == {"payer"}
    server.fault = lambda _: refusal(403, "Invalid Credentials")
    with pytest.raises(StorageUnreachableError, match="Invalid") as caught:
        list(storage.objects())
    assert "hunter2" not in str(caught.value)
