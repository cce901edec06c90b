"""What no listing shows: what costs money and stands in no listing; unknown is never zero."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import pytest

from contracts.places import listed
from contracts.servers.stub import BUCKET, Answer, error
from orphangc.adapters.object_store.object_storage import ObjectStorage
from orphangc.adapters.open import open_storage
from orphangc.adapters.s3 import s3_unlisted as s3_extras
from orphangc.errors import NotReportedError, StorageUnreachableError
from orphangc.ports import HIDDEN_SCHEMA, HiddenKind, Upload

PART = 5 << 20
"""The least that S3 takes for a part that is not the last."""


def begin(place, key: str, *sizes: int) -> str:
    """Begin an upload, send parts of it, and leave it."""
    named = {"Bucket": place.bucket, "Key": place.prefix + key}
    upload = place.client.create_multipart_upload(**named)["UploadId"]
    for number, size in enumerate(sizes, 1):
        place.client.upload_part(**named, UploadId=upload, PartNumber=number, Body=b"x" * size)
    return upload


def extras_of(place) -> ObjectStorage:
    found = open_storage(place.uri)
    assert isinstance(found, ObjectStorage)
    assert found.has_hidden
    return found


def rows_of(batches) -> list[dict]:
    found = list(batches)
    assert all(batch.schema.equals(HIDDEN_SCHEMA) for batch in found)
    return [row for batch in found for row in batch.to_pylist()]


def in_pages_of(extras: ObjectStorage, size: int, monkeypatch) -> None:
    """Make the store answer in small pages, as AWS does whenever it likes."""
    call = extras._client.call
    limits = {"list_multipart_uploads": "MaxUploads", "list_object_versions": "MaxKeys"}

    def limited(operation: str, **request):
        limit = {limits[operation]: size} if operation in limits else {}
        return call(operation, **request, **limit)

    monkeypatch.setattr(extras._client, "call", limited)


# --- uploads


def test_an_unfinished_upload_is_told_with_the_bytes_of_its_parts(s3_place) -> None:
    """No listing shows it, and the bill does."""
    begin(s3_place, "j/shared/x", PART, 100)
    begin(s3_place, "j/chk-1/y")
    assert listed(s3_place.open()) == []
    rows = rows_of(extras_of(s3_place).uploads())
    assert {row["key"]: row["size"] for row in rows} == {"j/shared/x": PART + 100, "j/chk-1/y": 0}
    assert {row["kind"] for row in rows} == {HiddenKind.UPLOAD}


def test_an_upload_is_told_with_its_beginning(s3_place) -> None:
    """Only old ones are leaks; moto dates all of them in 2010."""
    begin(s3_place, "x")
    (row,) = rows_of(extras_of(s3_place).uploads())
    age = datetime.now(UTC) - row["at"]  # noqa: TID251 - both servers run here
    assert age < timedelta(minutes=5) or row["at"].year == 2010


def test_a_finished_and_an_aborted_upload_are_not_told(s3_place) -> None:
    """They are an object and nothing."""
    named = {"Bucket": s3_place.bucket, "Key": "cp/done"}
    upload = begin(s3_place, "done", 10)
    parts = s3_place.client.list_parts(**named, UploadId=upload)["Parts"]
    whole = {"Parts": [{"PartNumber": 1, "ETag": parts[0]["ETag"]}]}
    s3_place.client.complete_multipart_upload(**named, UploadId=upload, MultipartUpload=whole)
    aborted = begin(s3_place, "aborted", 10)
    s3_place.client.abort_multipart_upload(
        Bucket=s3_place.bucket, Key="cp/aborted", UploadId=aborted
    )
    assert rows_of(extras_of(s3_place).uploads()) == []


def test_only_uploads_below_the_storage_root_are_told(s3_place) -> None:
    """Sinks of other prefixes keep resumable uploads in their state."""
    begin(s3_place, "x")
    for key in ("cpx/y", "y"):
        s3_place.client.create_multipart_upload(Bucket=s3_place.bucket, Key=key)
    assert [row["key"] for row in rows_of(extras_of(s3_place).uploads())] == ["x"]


ODD = ["a b/é+%41", "j/a&<b>", "j/é%2Fz", "z++", "%2B", "j/shared/x"]


@pytest.mark.parametrize("size", [1000, 3, 1])
def test_every_upload_is_told_once_over_all_pages(s3_place, monkeypatch, size) -> None:
    """Odd keys as they are, also where a page begins; several uploads of one key."""
    for key in ODD * 2:
        begin(s3_place, key)
    extras = extras_of(s3_place)
    in_pages_of(extras, size, monkeypatch)
    assert sorted(row["key"] for row in rows_of(extras.uploads())) == sorted(ODD * 2)


def test_parts_are_counted_up_to_a_bound_and_unknown_beyond(s3_place, monkeypatch) -> None:
    """A leak of a million uploads must not take a million requests; unknown is not zero."""
    monkeypatch.setattr(s3_extras, "MAX_PARTS_REQUESTS", 2)
    for number in range(5):
        begin(s3_place, f"{number}", 10)
    extras = extras_of(s3_place)
    for _ in range(2):
        assert Counter(row["size"] for row in rows_of(extras.uploads())) == {10: 2, None: 3}


# --- versions


def test_noncurrent_versions_and_delete_markers_are_told(s3_place) -> None:
    """What a deletion in a versioned bucket leaves behind goes on costing."""
    s3_place.enable_versions()
    for size in (1, 20, 300):
        s3_place.put("j/shared/x", b"x" * size)
    s3_place.put("j/shared/gone", b"x" * 4000)
    s3_place.remove("j/shared/gone")
    s3_place.put("current")
    s3_place.client.put_object(Bucket=s3_place.bucket, Key="cpx/y", Body=b"")
    s3_place.client.put_object(Bucket=s3_place.bucket, Key="cpx/y", Body=b"")
    rows = rows_of(extras_of(s3_place).versions())
    assert sorted((row["kind"], row["key"], row["size"]) for row in rows) == [
        (HiddenKind.DELETE_MARKER, "j/shared/gone", 0),
        (HiddenKind.NONCURRENT, "j/shared/gone", 4000),
        (HiddenKind.NONCURRENT, "j/shared/x", 1),
        (HiddenKind.NONCURRENT, "j/shared/x", 20),
    ]


@pytest.mark.parametrize("size", [1000, 3, 1])
def test_every_version_is_told_once_over_all_pages(s3_place, monkeypatch, size) -> None:
    """On radosgw all keys are encoded but the one that the next page begins with."""
    s3_place.enable_versions()
    for key in ODD:
        for _ in range(3):
            s3_place.put(key)
        s3_place.remove(key)
    extras = extras_of(s3_place)
    in_pages_of(extras, size, monkeypatch)
    assert sorted(row["key"] for row in rows_of(extras.versions())) == sorted(ODD * 4)


def test_over_a_page_of_versions_are_told(s3_place) -> None:
    """As the store cuts its pages itself."""
    s3_place.enable_versions()
    keys = [f"{number:03}" for number in range(401)]
    for _ in range(3):
        s3_place.put_all(keys)
    assert len(rows_of(extras_of(s3_place).versions())) == 802


def test_a_bucket_that_never_had_versions_has_none(s3_place) -> None:
    """And is not listed a second time to learn that."""
    s3_place.put("x")
    s3_place.put("x")
    assert rows_of(extras_of(s3_place).versions()) == []


def test_a_bucket_whose_versioning_was_suspended_still_has_them(s3_place) -> None:
    """Suspended keeps what there was."""
    s3_place.enable_versions()
    s3_place.put("x")
    s3_place.put("x", b"newer")
    s3_place.client.put_bucket_versioning(
        Bucket=s3_place.bucket, VersioningConfiguration={"Status": "Suspended"}
    )
    assert len(rows_of(extras_of(s3_place).versions())) == 1


# --- what stores may answer


@pytest.mark.parametrize(("code", "status"), [("AccessDenied", 403), ("NotImplemented", 501)])
@pytest.mark.parametrize("verb", ["uploads", "versions"])
def test_a_refusal_is_told_apart_from_nothing(stub, verb, code, status) -> None:
    """The request is forbidden or unsupported: in both cases the number is unknown."""
    stub.versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    stub.answer = lambda _: error(code, status)
    extras = open_storage(f"s3://{BUCKET}/cp")
    with pytest.raises(NotReportedError) as refused:
        rows_of(getattr(extras, verb)())
    assert refused.value.is_forbidden is (status == 403)


@pytest.mark.parametrize("verb", ["uploads", "versions", "buckets"])
def test_credentials_that_are_not_taken_are_no_missing_right(stub, verb) -> None:
    """With the status of a missing right S3 says that it does not know the account at all."""
    stub.versioning = "<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>"
    stub.answer = lambda _: error("InvalidAccessKeyId", 403)
    asked = getattr(open_storage(f"s3://{BUCKET}/cp"), verb)
    with pytest.raises(StorageUnreachableError, match="does not know AWS_ACCESS_KEY_ID"):
        list(asked())


def uploads_page(*keys: str, truncated: str, marker: str = "") -> Answer:
    rows = "".join(
        f"<Upload><Key>{key}</Key><UploadId>u-{key}</UploadId>"
        "<Initiated>2026-01-02T03:04:05.000Z</Initiated></Upload>"
        for key in keys
    )
    following = f"<NextKeyMarker>{marker}</NextKeyMarker>" if marker else ""
    flag = f"<IsTruncated>{truncated}</IsTruncated>" if truncated else ""
    return Answer(
        f"<ListMultipartUploadsResult>{flag}{following}{rows}</ListMultipartUploadsResult>"
    )


@pytest.mark.parametrize(
    "page",
    [
        uploads_page("cp/x", truncated="true"),
        uploads_page("cp/x", truncated="true", marker="cp/x"),
        uploads_page("cp/x", truncated=""),
        uploads_page("elsewhere/x", truncated="false"),
    ],
    ids=["no marker", "the same marker for ever", "no flag", "keys from elsewhere"],
)
def test_pages_that_do_not_add_up_are_an_error(stub, page) -> None:
    """A part is never taken for all."""
    stub.answer = lambda request: (
        error("AccessDenied", 403) if request.query.get("uploadId") else page
    )
    with pytest.raises(StorageUnreachableError):
        rows_of(open_storage(f"s3://{BUCKET}/cp").uploads())


def test_parts_that_may_not_be_asked_for_have_an_unknown_size(stub) -> None:
    """Another permission than that for the uploads."""
    page = uploads_page("cp/x", "cp/y", truncated="false")
    stub.answer = lambda request: (
        error("AccessDenied", 403) if request.query.get("uploadId") else page
    )
    rows = rows_of(open_storage(f"s3://{BUCKET}/cp").uploads())
    assert [(row["key"], row["size"]) for row in rows] == [("x", None), ("y", None)]


def test_an_upload_that_is_gone_by_now_is_not_told(stub) -> None:
    """It was completed between the two requests: it is an object, or nothing."""
    page = uploads_page("cp/x", "cp/y", truncated="false")

    def answer(request):
        if request.path.endswith("/cp/x"):
            return error("NoSuchUpload", 404)
        if request.query.get("uploadId"):
            return Answer("<ListPartsResult><IsTruncated>false</IsTruncated></ListPartsResult>")
        return page

    stub.answer = answer
    rows = rows_of(open_storage(f"s3://{BUCKET}/cp").uploads())
    assert [(row["key"], row["size"]) for row in rows] == [("y", 0)]


@pytest.mark.parametrize("verb", ["uploads", "versions", "unfinished"])
def test_other_stores_have_nobody_to_ask(tmp_path, verb) -> None:
    """No S3, no uploads: the plan says nothing of them, and who asks all the same is refused."""
    storage = open_storage(str(tmp_path))
    assert not storage.has_hidden
    with pytest.raises(NotReportedError):
        getattr(storage, verb)()
    with pytest.raises(NotReportedError):
        storage.abort(Upload(key="x", upload_id="1", begun_at=None))


# --- abort


def test_an_aborted_upload_is_gone_and_no_other(s3_place) -> None:
    """Its id names it: another upload of the same key goes on, and can be completed."""
    first, second = begin(s3_place, "j/chk-1/x", 100), begin(s3_place, "j/chk-1/x", 100)
    extras = extras_of(s3_place)
    found = {each.upload_id: each for each in extras.unfinished()}
    assert {each.key for each in found.values()} == {"j/chk-1/x"}
    assert extras.abort(found[first]) is True
    assert [each.upload_id for each in extras.unfinished()] == [second]
    parts = s3_place.client.list_parts(
        Bucket=s3_place.bucket, Key=s3_place.prefix + "j/chk-1/x", UploadId=second
    )["Parts"]
    s3_place.client.complete_multipart_upload(
        Bucket=s3_place.bucket,
        Key=s3_place.prefix + "j/chk-1/x",
        UploadId=second,
        MultipartUpload={"Parts": [{"ETag": parts[0]["ETag"], "PartNumber": 1}]},
    )
    assert listed(s3_place.open()) == ["j/chk-1/x"]


def test_an_upload_that_was_completed_or_aborted_before_is_none(s3_place) -> None:
    """An abort never touches the object that the upload became."""
    begin(s3_place, "x", 10)
    extras = extras_of(s3_place)
    (upload,) = extras.unfinished()
    assert extras.abort(upload) is True
    assert extras.abort(upload) is False


def test_an_abort_that_the_store_refuses_is_an_error(stub) -> None:
    """It is never taken for done."""
    stub.answer = lambda _: error("AccessDenied", 403)
    upload = Upload(key="x", upload_id="1", begun_at=None)
    with pytest.raises(StorageUnreachableError):
        open_storage(f"s3://{BUCKET}/cp").abort(upload)
