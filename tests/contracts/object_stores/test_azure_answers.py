"""What Azure answers, and Azurite never does: damage, throttling, refusals, deleted versions."""

import sys
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from email.message import Message
from email.parser import BytesParser

import pytest
import requests
from azure.core.exceptions import ClientAuthenticationError
from azure.storage.blob import ContainerClient
from urllib3.exceptions import ReadTimeoutError

from contracts.servers.azurite import ACCOUNT, connection_string
from contracts.servers.stub import Answer, Request, stub_server
from flinkstate.places.locations import canonical
from orphangc.adapters import storage_options as given
from orphangc.adapters.azure import container
from orphangc.adapters.azure.container import AzureContainer
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.core.model.types import StoredObject
from orphangc.core.ranges.key_ranges import KeyRange
from orphangc.errors import SettingsError, StorageUnreachableError
from orphangc.ports import DeletionStatus, Folder

URI = f"abfs://stubbed@{ACCOUNT}.dfs.core.windows.net/cp"
STAMP = "Fri, 02 Jan 2026 03:04:05 GMT"
AT = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.fixture
def stub(monkeypatch):
    """An account whose answers a test defines; requests are repeated at once."""
    monkeypatch.setattr(
        container, "BACKOFF", {"initial_backoff": 0, "increment_base": 0, "random_jitter_range": 0}
    )
    with stub_server() as server:
        monkeypatch.setenv("AZURE_STORAGE_CONNECTION_STRING", connection_string(server.url))
        yield server


def blob(name: str, *, etag: str = "", size: str = "7", more: str = "", after: str = "") -> str:
    etag = etag or f"0x{name}"
    return (
        f"<Blob><Name>{name}</Name>{after}<Properties><Last-Modified>{STAMP}</Last-Modified>"
        f"<Etag>{etag}</Etag><Content-Length>{size}</Content-Length><BlobType>BlockBlob</BlobType>"
        f"{more}</Properties></Blob>"
    )


def page(*blobs: str, marker: str = "") -> str:
    found = "".join(each if each.startswith("<") else blob(f"cp/{each}") for each in blobs)
    return (
        f"<?xml version='1.0'?><EnumerationResults><Blobs>{found}</Blobs>"
        f"<NextMarker>{marker}</NextMarker></EnumerationResults>"
    )


def xml(text: str) -> Answer:
    return Answer(text, headers={"Content-Type": "application/xml"})


def is_listing(request: Request) -> bool:
    return request.query.get("comp") == "list"


def head(key: str, **more: str) -> Answer:
    etag = f'"0xcp/{key}"'
    return Answer(headers={"ETag": etag, "Last-Modified": STAMP, **more}, length=7)


def judged(*keys: str) -> list[StoredObject]:
    return [StoredObject(key=k, size=7, modified_at=AT, etag=f"0xcp/{k}") for k in keys]


def refusal(status: int, code: str) -> Answer:
    return Answer("", status, {"x-ms-error-code": code})


def answering(
    *keys: str, others: Callable[[Request], Answer], listing: str = ""
) -> Callable[[Request], Answer]:
    """Return an account that lists these keys from anywhere, and has the facts of each."""

    def answer(request: Request) -> Answer:
        if request.query.get("comp") == "properties":
            return Answer(headers={"x-ms-is-hns-enabled": "false", "x-ms-sku-name": "x"})
        if is_listing(request):
            start = request.query.get("startFrom", "")
            most = int(request.query.get("maxresults", "5000"))
            shown = [key for key in sorted(keys) if f"cp/{key}" >= start]
            return Answer(listing or page(*shown[:most], marker="m" if shown[most:] else ""))
        if request.method == "HEAD":
            return head(request.path.rpartition("/cp/")[2])
        return others(request)

    return answer


DAMAGED = {
    "cut off": page("a", "b")[:-40],
    "no marker": page("a").replace("<NextMarker></NextMarker>", ""),
    "two markers": page("a").replace("<NextMarker></NextMarker>", "<NextMarker/>" * 2),
    "no blobs": "<EnumerationResults><NextMarker/></EnumerationResults>",
    "something else": page("a").replace("<Blobs>", "<Blobs><Thing/>"),
    "no name": page("a").replace("<Name>cp/a</Name>", ""),
    "no properties": page("<Blob><Name>cp/a</Name></Blob>"),
    "no size": page(blob("cp/a")).replace("<Content-Length>7</Content-Length>", ""),
    "no number": page(blob("cp/a", size="seven")),
    "elsewhere": page(blob("other/a")),
    "nothing": "",
    "not encoded": page(blob("cp/a").replace("<Name>", '<Name Encoded="true">%ff')),
    "itself": page("a", marker="again"),
    "too large": page(blob("cp/a", size="9" * 30)),
    "a name in two": page(blob("cp/a<x/>b")),
    "a marker in two": page("a", marker="<x>m</x>"),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_page_is_an_error_and_never_a_shorter_listing(stub, damage) -> None:
    """Whatever is cut off, doubled or out of place."""
    stub.answer = lambda _: Answer(DAMAGED[damage])
    storage = open_storage(URI)
    with pytest.raises(StorageUnreachableError):
        list(storage.objects())
    with pytest.raises(StorageUnreachableError):
        storage.folder()


def test_pages_follow_their_markers_and_empty_ones_end_nothing(stub) -> None:
    """Azure shows an empty page where it crosses a partition."""
    pages = {"": page("a", marker="1"), "1": page(marker="2"), "2": page("b")}
    stub.answer = lambda request: Answer(pages[request.query.get("marker", "")])
    storage = open_storage(URI)
    assert [key for rows in storage.objects() for key in rows["key"].to_pylist()] == ["a", "b"]
    assert storage.list_requests == 3


def test_a_name_that_xml_cannot_hold_is_decoded(stub) -> None:
    """And no other name is: a percent sign is one."""
    encoded = blob("cp/%EF%BF%BE%41").replace("<Name>", '<Name Encoded="true">')
    stub.answer = lambda _: Answer(page("x%41", encoded))
    (rows,) = open_storage(URI).objects()
    assert rows["key"].to_pylist() == ["x%41", "\ufffeA"]


@pytest.mark.parametrize(
    ("start", "ordered"),
    [
        (lambda start: start, True),
        (lambda start: "", False),  # noqa: ARG005 - an older service does not know it
        (lambda start: f"cp/{start}", False),
    ],
    ids=["as asked", "ignored", "relative"],
)
def test_a_store_is_ordered_if_it_begins_where_it_is_asked_to(stub, start, ordered) -> None:
    """A listing that begins elsewhere could leave names out."""
    keys = ["a", "b", "c"]
    good = answering(*keys, others=lambda _: refusal(500, "x"))

    def answer(request: Request) -> Answer:
        if "startFrom" in request.query:
            request.query["startFrom"] = start(request.query["startFrom"])
        return good(request)

    stub.answer = answer
    assert open_storage(URI).is_ordered is ordered


def test_a_hierarchical_namespace_has_folders_and_no_order(stub) -> None:
    """Its directories are no objects: nothing reads, judges or deletes them as such."""
    directory = blob("cp/job", more="<ResourceType>directory</ResourceType>")

    def answer(request: Request) -> Answer:
        if request.query.get("comp") == "properties":
            return Answer(headers={"x-ms-is-hns-enabled": "true"})
        if is_listing(request) and "delimiter" in request.query:
            prefix = "<BlobPrefix><Name>cp/job/</Name><Properties/></BlobPrefix>"
            return Answer(page(prefix, "x"))
        if is_listing(request):
            return Answer(page(directory, "job/shared/x"))
        return head("job", **{"x-ms-meta-hdi_isfolder": "true"})

    stub.answer = answer
    storage = open_storage(URI, shows_all=True)
    assert not storage.is_ordered
    assert storage.all_folders() is None
    (rows,) = storage.objects()
    shown = [(row["key"], row["size"]) for row in rows.to_pylist()]
    assert shown == [("job/", None), ("job/shared/x", 7)]
    level = storage.folder()
    assert (level.folders, [each.key for each in level.objects]) == (("job",), ["x"])
    assert storage.stat(["job"]) == [None]
    with pytest.raises(ValueError, match="no order"):
        list(storage.pages(KeyRange("a", "b")))


@pytest.mark.parametrize("keys", [[], ["a", "b", "c"]], ids=["at once", "behind files"])
def test_directories_without_a_word_of_the_account_are_enough(stub, keys) -> None:
    """No identity of Entra's is told the kind of the account, and files may come first."""
    directory = blob("cp/job", more="<ResourceType>directory</ResourceType>")
    listed = [*map(blob, [f"cp/{key}" for key in keys]), directory, blob("cp/job/x")]

    def answer(request: Request) -> Answer:
        if not is_listing(request):
            return refusal(403, "AuthorizationFailure")
        start = request.query.get("startFrom", "")
        shown = [each for each in listed if each.removeprefix("<Blob><Name>") >= start]
        return Answer(page(*shown[: int(request.query.get("maxresults", "5000"))]))

    stub.answer = answer
    assert not open_storage(URI).is_ordered


def test_a_range_that_is_out_of_order_is_an_error(stub) -> None:
    """Nobody knows what is between."""
    stub.answer = answering("a", "b", others=lambda _: refusal(500, "x"))
    storage = open_storage(URI)
    assert storage.is_ordered
    stub.answer = lambda _: Answer(page("b", "a"))
    with pytest.raises(StorageUnreachableError, match="not ordered"):
        list(storage.pages(KeyRange("a", None)))


def parts_of(request: Request) -> list[Message]:
    head = f"Content-Type: {request.headers['Content-Type']}\r\n\r\n".encode()
    return BytesParser().parsebytes(head + request.body).get_payload()


def batch(
    statuses: dict[str, tuple[int, str]], *, told: Callable[[list[list[str]]], object] = list
) -> Callable[[Request], Answer]:
    """Return an account that takes batches and answers each deletion by its key."""

    def answer(request: Request) -> Answer:
        assert request.query["comp"] == "batch"
        parts = []
        for number, part in enumerate(parts_of(request)):
            asked = part.get_payload()
            key = asked.split(" ", 2)[1].partition("?")[0].rpartition("/cp/")[2]
            assert f'If-Match: "0xcp/{key}"' in asked
            status, code = statuses.get(key, (202, ""))
            parts.append(
                [
                    "--b",
                    "Content-Type: application/http",
                    f"Content-ID: {number}",
                    "",
                    f"HTTP/1.1 {status} as told",
                    *([f"x-ms-error-code: {code}"] if code else []),
                    "",
                    "",
                ]
            )
        body = "\r\n".join([*(line for part in told(parts) for line in part), "--b--", ""])
        return Answer(body, 202, {"Content-Type": "multipart/mixed; boundary=b"})

    return answer


def test_a_batch_has_one_result_for_each_key(stub) -> None:
    """Each failure is that of its own key; what the store is busy with is no failure."""
    statuses = {
        "changed": (412, "ConditionNotMet"),
        "gone": (404, "BlobNotFound"),
        "busy": (503, "ServerBusy"),
        "leased": (412, "LeaseIdMissing"),
        "held": (409, "BlobImmutableDueToPolicy"),
        "forbidden": (403, "AuthorizationPermissionMismatch"),
        "broken": (500, "InternalError"),
        "lost": (503, ""),
    }
    stub.answer = answering(*statuses, "fine", others=batch(statuses))
    storage = open_storage(URI)
    found = {each.key: each for each in storage.delete(judged(*statuses, "fine"))}
    assert {key: each.status for key, each in found.items()} == {
        "changed": DeletionStatus.CHANGED,
        "gone": DeletionStatus.GONE,
        "busy": DeletionStatus.REFUSED,
        "leased": DeletionStatus.FAILED,
        "held": DeletionStatus.FAILED,
        "forbidden": DeletionStatus.FAILED,
        "broken": DeletionStatus.UNKNOWN,
        "lost": DeletionStatus.UNKNOWN,
        "fine": DeletionStatus.DELETED,
    }
    assert found["fine"].version_id == "0xcp/fine"
    assert "LeaseIdMissing" in found["leased"].error
    assert len(stub.asked("POST")) == 1


def unnumbered(parts: list[list[str]]) -> list[list[str]]:
    return [[line for line in part if "Content-ID" not in line] for part in parts]


@pytest.mark.parametrize(
    ("told", "results"),
    [
        (reversed, [DeletionStatus.CHANGED, DeletionStatus.DELETED, DeletionStatus.GONE]),
        (lambda parts: parts[:2], [DeletionStatus.CHANGED, DeletionStatus.DELETED, None]),
        (lambda parts: parts + parts[1:2], [DeletionStatus.CHANGED, None, DeletionStatus.GONE]),
        (unnumbered, [None] * 3),
    ],
    ids=["another order", "too few", "one twice", "no numbers"],
)
def test_the_results_of_a_batch_are_told_apart_by_their_numbers(stub, told, results) -> None:
    """Azure promises no order of them: by their places one key would have the result of another."""
    statuses = {"a": (412, "ConditionNotMet"), "c": (404, "BlobNotFound")}
    stub.answer = answering("a", "b", "c", others=batch(statuses, told=told))
    found = [each.status for each in open_storage(URI).delete(judged("a", "b", "c"))]
    assert found == [each or DeletionStatus.UNKNOWN for each in results]


def test_a_service_without_batches_is_asked_for_each(stub) -> None:
    """What refuses a whole batch has deleted none of it; it is asked for none again."""

    def others(request: Request) -> Answer:
        if request.method == "POST":
            return refusal(400, "FeatureNotSupportedForAccount")
        assert request.headers["If-Match"].startswith('"0xcp/')
        return Answer("", 202)

    stub.answer = answering("a", "b", "c", "d", others=others)
    storage = open_storage(URI)
    for keys in (("a", "b"), ("c", "d")):
        found = storage.delete(judged(*keys))
        assert {each.status for each in found} == {DeletionStatus.DELETED}
    assert (len(stub.asked("POST")), len(stub.asked("DELETE"))) == (1, 4)


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (refusal(503, "ServerBusy"), DeletionStatus.REFUSED),
        (Answer("upstream reset", 503), DeletionStatus.UNKNOWN),
        (refusal(429, "TooManyRequests"), DeletionStatus.REFUSED),
        (refusal(500, "InternalError"), DeletionStatus.UNKNOWN),
        (refusal(408, "RequestTimeout"), DeletionStatus.UNKNOWN),
        (Answer("cut", 202, {"Content-Type": "multipart/mixed; boundary=b"}, 99),
         DeletionStatus.UNKNOWN),
    ],
)  # fmt: skip
def test_a_deletion_without_a_usable_answer_is_sent_once(stub, answer, status) -> None:
    """The caller alone repeats it, more slowly."""
    stub.answer = answering("a", "b", others=lambda _: answer)
    found = open_storage(URI).delete(judged("a", "b"))
    assert [each.status for each in found] == [status] * 2
    assert (len(stub.asked("POST")), len(stub.asked("DELETE"))) == (1, 0)


def test_a_deletion_whose_answer_stalls_may_be_carried_out(stub, monkeypatch) -> None:
    """Azure's client has one error for what was never sent, and for a body that does not come."""
    asked = requests.Session.request

    def stalled(session, method, url, **more):
        answer = asked(session, method, url, **more)
        if method == "DELETE":
            raise requests.ConnectionError(ReadTimeoutError(None, url, "Read timed out."))
        return answer

    monkeypatch.setattr(requests.Session, "request", stalled)
    stub.answer = answering("a", others=lambda _: Answer("", 202))
    (found,) = open_storage(URI).delete(judged("a"))
    assert found.status is DeletionStatus.UNKNOWN
    assert len(stub.asked("DELETE")) == 1


@pytest.mark.parametrize("key", ["a/../b", "..", "./b", "b/.", "/b", "b//c", "b/", ""])
def test_a_key_that_a_url_cannot_hold_is_in_no_url(stub, key) -> None:
    """Clients resolve dots before they send a request: it would be about another blob."""
    stub.answer = answering("b", others=lambda _: Answer("", 202))
    storage = open_storage(URI)
    (found,) = storage.delete([replace(judged("b")[0], key=key)])
    assert found.status is DeletionStatus.FAILED
    with pytest.raises(StorageUnreachableError, match="cannot be named"):
        storage.read(key, max_bytes=9)
    assert stub.asked("HEAD") + stub.asked("DELETE") + stub.asked("POST") == []


def test_an_account_that_refuses_everything_is_unreachable(stub) -> None:
    """As are a container that is absent, and keys that are not those of the account."""
    stub.answer = lambda _: refusal(403, "AuthenticationFailed")
    with pytest.raises(StorageUnreachableError, match="AuthenticationFailed"):
        open_storage(URI).delete(judged("a", "b"))


def test_throttled_pages_are_requested_again(stub) -> None:
    """A few times; then the listing has failed."""
    answers = [refusal(503, "ServerBusy"), Answer(page("a"))]
    stub.answer = lambda _: answers.pop(0)
    assert len([*open_storage(URI).objects()]) == 1
    stub.answer = lambda _: refusal(503, "ServerBusy")
    with pytest.raises(StorageUnreachableError, match="ServerBusy"):
        list(open_storage(URI).objects())


def kept(*versions: str, live: bool = False) -> str:
    """Return the listing of what is kept of ``cp/a``, and of a longer name."""
    own = [blob("cp/a")] if live else []
    return page(*own, *versions, blob("cp/ab", after="<Deleted>true</Deleted>"))


SOFT = blob("cp/a", etag="0xcp/a", after="<Deleted>true</Deleted>")
VERSION = blob("cp/a", etag="0xcp/a", after="<VersionId>2026-01-02</VersionId>")


def undeleting(stub, listing: str, *, copied: str = "success") -> Callable[[Request], Answer]:
    """Return an account that has no ``cp/a`` until something restores it."""

    def answer(request: Request) -> Answer:
        if is_listing(request):
            return xml(listing)
        if request.method == "HEAD":
            return head("a") if stub.asked("PUT") else refusal(404, "BlobNotFound")
        is_copy = "x-ms-copy-source" in request.headers
        return Answer("", 202 if is_copy else 200, {"x-ms-copy-status": copied})

    return answer


def test_a_blob_that_is_kept_is_undeleted(stub) -> None:
    """Exactly the one that was deleted, by its ETag."""
    stub.answer = undeleting(stub, kept(SOFT))
    storage = open_storage(URI)
    (dry,) = storage.undelete([("a", "0xcp/a")], is_dry=True)
    assert (dry.status, stub.asked("PUT")) == (DeletionStatus.DELETED, [])
    (found,) = storage.undelete([("a", "0xcp/a")])
    assert found.status is DeletionStatus.DELETED
    assert [request.query["comp"] for request in stub.asked("PUT")] == ["undelete"]


def test_a_version_is_made_the_blob_again_unless_there_is_one(stub) -> None:
    """By a copy under a condition: nothing is replaced."""
    stub.answer = undeleting(stub, kept(VERSION))
    (found,) = open_storage(URI).undelete([("a", "0xcp/a")])
    assert found.status is DeletionStatus.DELETED
    (copy,) = stub.asked("PUT")
    assert copy.headers["If-None-Match"] == "*"
    assert "versionid=2026-01-02" in copy.headers["x-ms-copy-source"]


def test_a_copy_that_is_not_whole_brings_nothing_back(stub) -> None:
    """Its blob is there while the copy goes on, and when it has failed."""
    stub.answer = undeleting(stub, kept(VERSION), copied="pending")
    (found,) = open_storage(URI).undelete([("a", "0xcp/a")])
    assert (found.status, found.error) == (DeletionStatus.FAILED, "its copy is pending")


@pytest.mark.parametrize("listing", [kept(), kept(SOFT.replace("0xcp/a", "0xother"))])
def test_another_blob_is_not_restored(stub, listing) -> None:
    """Neither a longer name's, nor one that was deleted by another."""
    stub.answer = undeleting(stub, listing)
    (found,) = open_storage(URI).undelete([("a", "0xcp/a")])
    assert found.status is DeletionStatus.FAILED
    assert "has kept no deleted version 0xcp/a" in found.error
    assert stub.asked("PUT") == []


def test_a_blob_that_is_there_is_left_as_it_is(stub) -> None:
    stub.answer = lambda request: xml(kept(SOFT)) if is_listing(request) else head("a")
    (found,) = open_storage(URI).undelete([("a", "0xcp/a")])
    assert (found.status, stub.asked("PUT")) == (DeletionStatus.GONE, [])


@pytest.mark.parametrize(
    ("policy", "versions", "is_kept"),
    [("true", "", True), ("false", "<VersionId>2</VersionId>", True), ("false", "", False)],
)
def test_an_account_keeps_versions_or_deleted_blobs(stub, policy, versions, is_kept) -> None:
    """Soft delete is a setting of the account; a listing shows whether there are versions."""
    settings = (
        "<StorageServiceProperties><DeleteRetentionPolicy><Enabled>"
        f"{policy}</Enabled><Days>7</Days></DeleteRetentionPolicy></StorageServiceProperties>"
    )
    stub.answer = lambda request: xml(
        page(blob("cp/a", after=versions)) if is_listing(request) else settings
    )
    assert open_storage(URI).is_versioned is is_kept


def test_a_lock_whose_answer_was_lost_is_ours(stub) -> None:
    """The client repeats the request; the mark on the blob shows who wrote it."""
    written: list[str] = []

    def answer(request: Request) -> Answer:
        if request.method == "PUT":
            written.append(request.headers["x-ms-meta-orphangc_writer"])
            assert request.headers["If-None-Match"] == "*"
            return refusal(500, "InternalError") if len(written) == 1 else refusal(
                409, "BlobAlreadyExists"
            )  # fmt: skip
        return head("lock", **{"x-ms-meta-orphangc_writer": written[0]})

    stub.answer = answer
    assert open_state_files(URI, is_probed=False).create("lock", b"mine")
    assert len(written) == 2


def test_a_missing_extra_is_named(monkeypatch) -> None:
    for module in [name for name in sys.modules if name.startswith("orphangc.adapters.azure")]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "adlfs", None)
    for opened in (open_storage, open_state_files):
        with pytest.raises(SettingsError, match=r"pip install 'orphangc\[azure\]'"):
            opened(URI)


def test_credentials_of_another_account_are_refused(stub) -> None:  # noqa: ARG001
    """A connection string names an account, and so does the URI."""
    with pytest.raises(SettingsError, match=f"of account {ACCOUNT}"):
        open_storage("abfs://stubbed@another.dfs.core.windows.net/cp")


@pytest.mark.parametrize(
    ("settings", "credential"),
    [
        ({}, "BearerToken"),
        ({"ACCOUNT_KEY": "a2V5"}, "SharedKey"),
        ({"SAS_TOKEN": "sv=1&sig=x"}, "None"),
        ({"CLIENT_ID": "i", "CLIENT_SECRET": "s", "TENANT_ID": "t"}, "BearerToken"),
    ],
)
def test_credentials_are_those_that_adlfs_finds(monkeypatch, settings, credential) -> None:
    """A key, a SAS, a service principal, else Azure's default credentials."""
    for name, value in settings.items():
        monkeypatch.setenv(f"AZURE_STORAGE_{name}", value)
    opened = AzureContainer(canonical("wasbs://c@account.blob.core.windows.net/x"))
    assert credential in type(opened._client._credential_policy).__name__
    assert opened._client.primary_hostname == "account.blob.core.windows.net"
    assert ("sig=x" in opened._client.url) == ("SAS_TOKEN" in settings)


def test_storage_options_stand_before_the_environment(monkeypatch) -> None:
    """For every place of their container, and for no other."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    place = canonical("abfs://c@account.dfs.core.windows.net/x")
    monkeypatch.setattr(
        given, "_stated", {place.top: {"account_host": "account.blob.core.private.example"}}
    )
    assert AzureContainer(place)._client.primary_hostname == "account.blob.core.private.example"
    other = canonical("abfs://d@account.dfs.core.windows.net/x")
    assert AzureContainer(other)._client.primary_hostname == "account.blob.core.windows.net"


def test_an_account_of_another_cloud_has_its_own_host(monkeypatch) -> None:
    """The library knows the public cloud only."""
    monkeypatch.setenv("AZURE_STORAGE_ACCOUNT_KEY", "a2V5")
    opened = AzureContainer(canonical("abfss://c@account.dfs.core.chinacloudapi.cn/x"))
    assert opened._client.primary_hostname == "account.blob.core.chinacloudapi.cn"


def test_no_account_is_a_setting_that_lacks() -> None:
    """A container alone names none."""
    with pytest.raises(SettingsError, match="account_name"):
        open_storage("az://container/cp")


def test_a_folder_without_anything_is_empty(stub) -> None:
    stub.answer = lambda _: Answer(page())
    assert open_storage(URI).folder("x") == Folder((), ())


@pytest.mark.usefixtures("stub")
def test_where_there_are_no_credentials_it_is_said_how_to_give_some(monkeypatch) -> None:
    """No request was made; what each of ten kinds of credentials lacks is many lines."""

    def fail(*_: object, **__: object) -> None:
        raise ClientAuthenticationError("DefaultAzureCredential failed\nAttempted credentials:")

    monkeypatch.setattr(ContainerClient, "walk_blobs", fail)
    with pytest.raises(StorageUnreachableError, match="no credentials: set AZURE_STORAGE_") as err:
        open_storage(canonical(URI)).folder("")
    assert "\n" not in str(err.value)
