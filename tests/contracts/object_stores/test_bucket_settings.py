"""What Azure and Google do to objects by themselves, and what they keep of deleted ones."""

from collections.abc import Iterator

import pytest

from contracts.object_stores.test_azure_answers import URI, blob, is_listing, page, refusal, xml
from contracts.places import AzurePlace, GcsPlace
from contracts.servers import gcs as google
from contracts.servers.azurite import ACCOUNT, connection_string
from contracts.servers.gcs import GcsServer
from contracts.servers.stub import Answer, Request, Stub, stub_server
from orphangc.adapters.open import open_storage
from orphangc.app.commands.health import CheckStatus
from orphangc.app.commands.operate.doctor import bucket_checks
from orphangc.core.model.settings import StorageRootSettings
from orphangc.errors import NotReportedError, StorageUnreachableError
from orphangc.ports import HiddenKind, Storage

CONTAINER = f"abfs://stubbed@{ACCOUNT}.dfs.core.windows.net/cp"


def kept(storage: Storage) -> list[tuple[str, str, int]]:
    rows = [row for batch in storage.versions() for row in batch.to_pylist()]
    return sorted((row["kind"], row["key"], row["size"]) for row in rows)


def examined(uri: str) -> tuple[CheckStatus, str]:
    """Return what ``doctor`` says of the bucket."""
    return bucket_checks(StorageRootSettings.model_validate({"root": uri}))["bucket"]()


# --- Google


def test_noncurrent_generations_are_counted_to_the_last_page(place: GcsPlace) -> None:
    """Neither current ones nor those of other prefixes."""
    place.enable_versions()
    for size in (1, 20, 300):
        place.put("j/shared/x", b"x" * size)
    place.put_all(["j/shared/y", "j/shared/z"])
    place.remove("j/shared/y")
    other = GcsPlace(place.base.removesuffix("/storage/v1/b"))
    other.put("a")
    storage = place.open()
    assert storage.has_hidden
    assert kept(storage) == [
        (HiddenKind.NONCURRENT, "j/shared/x", 1),
        (HiddenKind.NONCURRENT, "j/shared/x", 20),
        (HiddenKind.NONCURRENT, "j/shared/y", 5),
    ]


def test_what_a_soft_deletion_keeps_is_counted(server: GcsServer, place: GcsPlace) -> None:
    """A bucket without soft delete refuses the listing, which means that it keeps none."""
    soft = {"name": "cp/a", "size": "7", "timeCreated": "2026-01-02T03:04:05Z"}
    page_of_soft = {"kind": "storage#objects", "items": [soft | {"softDeleteTime": "2026-01-03"}]}
    answer = [google.as_json(page_of_soft)]
    server.fault = lambda r: answer[0] if r.query.get("softDeleted") == "true" else None
    assert kept(place.open()) == [(HiddenKind.NONCURRENT, "a", 7)]
    answer[0] = google.refusal(400, "soft delete is disabled")
    assert kept(place.open()) == []
    answer[0] = google.refusal(403, "denied")
    with pytest.raises(NotReportedError, match="denied") as caught:
        kept(place.open())
    assert caught.value.is_forbidden
    answer[0] = google.as_json({"kind": "storage#objects", "items": [{"softDeleteTime": "x"}]})
    with pytest.raises(StorageUnreachableError, match="damaged"):
        kept(place.open())


def test_hidden_objects_from_elsewhere_are_an_answer_to_another_request(
    server: GcsServer, place: GcsPlace
) -> None:
    """A server that ignores the prefix would count another root's files."""
    item = {"name": "elsewhere/a", "size": "7", "timeDeleted": "2026-01-02T03:04:05Z"}
    answer = google.as_json({"kind": "storage#objects", "items": [item]})
    server.fault = lambda r: answer if r.query.get("versions") == "true" else None
    with pytest.raises(StorageUnreachableError, match="elsewhere"):
        kept(place.open())


SETTINGS = {
    "lifecycle": {
        "rule": [
            {"action": {"type": "Delete"}, "condition": {"age": 30, "matchesPrefix": ["cp/", "x"]}}
        ]
    },
    "retentionPolicy": {"retentionPeriod": "864000"},
    "softDeletePolicy": {"retentionDurationSeconds": "604800"},
}


def test_doctor_reads_a_bucket_of_google(server: GcsServer, place: GcsPlace) -> None:
    """Rules, retention, versions, soft delete, in one request; a refusal is a note."""
    assert examined(place.uri)[0] is CheckStatus.GOOD
    server.buckets[place.bucket].settings |= SETTINGS
    status, said = examined(place.uri)
    assert status is CheckStatus.WARNING
    for part in ("deletes Flink's files 30 days", "retention policy of 10 days", "up to 7 days"):
        assert part in said
    server.fault = lambda r: None if "/o" in r.path else google.refusal(403, "denied")
    status, said = examined(place.uri)
    assert (status, "storage.buckets.get" in said) == (CheckStatus.NOTE, True)


@pytest.mark.testbench
@pytest.mark.ci
def test_doctor_reads_the_testbench(testbench_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It keeps what a bucket is given."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", testbench_url)
    there = GcsPlace(testbench_url)
    there._ask("PATCH", f"{there.base}/{there.bucket}", json={"lifecycle": SETTINGS["lifecycle"]})
    assert "deletes Flink's files 30 days" in examined(there.uri)[1]


# --- Azure


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    with stub_server() as found:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(found.url))
        yield found


def test_deleted_blobs_and_older_versions_are_counted(stub: Stub) -> None:
    """Over two pages, without the current version."""
    pages = {
        "": page(
            blob("cp/a", after="<VersionId>1</VersionId>"),
            blob("cp/a", after="<VersionId>2</VersionId><IsCurrentVersion>true</IsCurrentVersion>"),
            marker="m",
        ),
        "m": page(blob("cp/b", after="<Deleted>true</Deleted>"), blob("cp/c")),
    }
    stub.answer = lambda request: xml(pages[request.query.get("marker", "")])
    storage = open_storage(URI)
    assert kept(storage) == [(HiddenKind.NONCURRENT, "a", 7), (HiddenKind.NONCURRENT, "b", 7)]
    assert {r.query["include"] for r in stub.requests if is_listing(r)} == {"deleted,versions"}
    stub.answer = lambda _: refusal(403, "AuthorizationPermissionMismatch")
    with pytest.raises(NotReportedError):
        kept(storage)


def test_deleted_blobs_from_elsewhere_are_an_answer_to_another_request(stub: Stub) -> None:
    """As for Google: none of them is cut to a key of this storage root."""
    stub.answer = lambda _: xml(page(blob("elsewhere/a", after="<Deleted>true</Deleted>")))
    with pytest.raises(StorageUnreachableError, match="elsewhere"):
        kept(open_storage(URI))


def account(request: Request, *, archived: bool = False, **held: str) -> Answer:
    if is_listing(request):
        tier = "<AccessTier>Archive</AccessTier>" if archived else ""
        return xml(page(blob("cp/a", more=tier)))
    if request.query.get("comp") == "properties":
        return xml(
            "<StorageServiceProperties><DeleteRetentionPolicy><Enabled>true</Enabled><Days>7</Days>"
            "</DeleteRetentionPolicy></StorageServiceProperties>"
        )
    flags = {"immutability-policy": "false", "legal-hold": "false"} | held
    return Answer(
        "",
        headers={"ETag": '"e"', "Last-Modified": "Fri, 02 Jan 2026 03:04:05 GMT"}
        | {f"x-ms-has-{name}": value for name, value in flags.items()},
    )


def test_doctor_reads_what_azures_client_can(stub: Stub) -> None:
    """Lifecycle rules stand where it does not reach, which is said each time."""
    stub.answer = account
    status, said = examined(CONTAINER)
    assert status is CheckStatus.NOTE
    assert "up to 7 days ago" in said
    assert "az storage account management-policy show" in said
    stub.answer = lambda r: account(r, archived=True, **{"immutability-policy": "true"})
    status, said = examined(CONTAINER)
    assert status is CheckStatus.WARNING
    assert "'a' is in an archive" in said
    assert "an immutability policy of the container" in said
    stub.answer = lambda r: account(r) if is_listing(r) else refusal(403, "AuthorizationFailure")
    status, said = examined(CONTAINER)
    assert (status, "blobServices/read, " in said) == (CheckStatus.NOTE, True)


@pytest.mark.azurite
@pytest.mark.ci
def test_doctor_reads_azurite(azurite_url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the settings of an account, and keeps nothing of what is deleted."""
    monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(azurite_url))
    there = AzurePlace(azurite_url)
    there.put("j/shared/x")
    assert examined(there.uri)[0] is CheckStatus.NOTE
    assert kept(there.open()) == []
