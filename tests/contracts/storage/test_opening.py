"""Opening by URI: schemes, credentials, and errors that an operator can act on."""

import socket
import sys
import time
from pathlib import Path

import fsspec
import pytest

from contracts.conftest import use
from contracts.places import S3Place, listed
from contracts.servers import radosgw
from flinkstate.places.locations import canonical
from orphangc.adapters.files.local_storage import LocalStorage
from orphangc.adapters.open import BUCKETS, open_state_files, open_storage, server_of
from orphangc.adapters.s3.s3_bucket import S3Bucket
from orphangc.app.commands.operate import policy
from orphangc.errors import ExitCode, SettingsError, StorageUnreachableError
from support import speed
from support.leaks import AZURE_KEY


@pytest.mark.parametrize("scheme", ["s3", "s3a", "s3n", "s3p"])
def test_all_of_hadoops_s3_schemes_are_s3(moto_url, monkeypatch, scheme):
    """Flink's paths say s3a or s3p."""
    use(monkeypatch, moto_url, "AK", "SK")
    place = S3Place(moto_url, "AK", "SK")
    storage = open_storage(place.uri.replace("s3:", f"{scheme}:"))
    assert isinstance(storage, S3Bucket)
    assert str(storage.location) == place.uri


OTHER = "http://other.example:9000"
CONNECTION = f"DefaultEndpointsProtocol=http;AccountName={{}};AccountKey={AZURE_KEY}"


SERVERS = {
    ("s3://b/cp", "AWS_ENDPOINT_URL"): ("http://one.example", OTHER),
    ("s3://b/cp", "AWS_ENDPOINT_URL_S3"): ("http://one.example", OTHER),
    ("abfs://ccc/cp", "AZURE_STORAGE_CONNECTION_STRING"): (
        CONNECTION.format("one"),
        CONNECTION.format("other"),
    ),
    ("gs://b/cp", "STORAGE_EMULATOR_HOST"): ("http://127.0.0.1:1", "http://127.0.0.1:2"),
}


@pytest.mark.parametrize(("uri", "variable"), SERVERS)
def test_one_uri_at_two_servers_is_two_storages(monkeypatch, uri, variable):
    """Executors of Spark are asked for theirs, whatever of their environment names it."""
    use(monkeypatch, "http://unused.example", "AK", "SK")
    found = []
    for value in SERVERS[uri, variable]:
        monkeypatch.setenv(variable, value)
        found.append(open_storage(uri).server)
    assert "" not in found
    assert len(set(found)) == 2


def test_each_object_store_has_what_a_new_one_needs():
    """gc/README.md, "To add a provider": permissions, and two servers of one URI."""
    assert {each.scheme for each in policy._PROVIDERS.values()} == BUCKETS
    assert {uri.partition(":")[0] for uri, _ in SERVERS} == BUCKETS


def test_a_server_that_fsspec_alone_knows_is_another_one(monkeypatch):
    """Its configuration files stand before the environment."""
    use(monkeypatch, "http://one.example", "AK", "SK")
    first = open_storage("s3://b/cp").server
    monkeypatch.setitem(fsspec.config.conf, "s3", {"endpoint_url": OTHER})
    assert (first, open_storage("s3://b/cp").server) == ("one.example", "other.example:9000")


def test_the_regions_of_aws_are_one_server(monkeypatch):
    """The name of a bucket is one in all of them; driver and executors may have their own."""
    use(monkeypatch, "", "AK", "SK")
    monkeypatch.delenv("AWS_ENDPOINT_URL")
    servers = set()
    for region in ("us-east-1", "eu-central-1"):
        monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        servers.add(open_storage("s3://b/cp").server)
    assert servers == {".amazonaws.com"}


IN_AWS = {
    ".amazonaws.com": (
        *("s3.amazonaws.com", "s3-eu-west-1.amazonaws.com", "S3.eu-west-1.amazonaws.com:443"),
        *("s3.dualstack.eu-west-1.amazonaws.com", "s3-fips.us-east-1.amazonaws.com"),
        *("s3-fips.dualstack.ca-central-1.amazonaws.com", "s3-accelerate.amazonaws.com"),
        *("bucket.vpce-1a-2b.s3.us-east-1.vpce.amazonaws.com", "b.s3.us-east-2.amazonaws.com"),
    ),
    ".amazonaws.com.cn": ("s3.cn-north-1.amazonaws.com.cn", "s3.cn-northwest-1.amazonaws.com.cn"),
    ".us-gov.amazonaws.com": ("s3.us-gov-west-1.amazonaws.com", "s3-us-gov-east-1.amazonaws.com"),
}


@pytest.mark.parametrize("store", IN_AWS)
def test_each_partition_of_aws_is_one_server(monkeypatch, store):
    """Dual stack, FIPS and private hosts among them; the same bucket may be in each partition."""
    for host in IN_AWS[store]:
        use(monkeypatch, f"https://{host}", "AK", "SK")
        assert open_storage("s3://b/cp").server == store


@pytest.mark.parametrize(
    "host",
    [
        "internal-minio-1.eu-west-1.elb.amazonaws.com",
        "s3-minio-1.elb.eu-west-1.amazonaws.com",
        "ec2-1-2-3-4.eu-west-1.compute.amazonaws.com:9000",
        "ec2-1-2-3-4.compute-1.amazonaws.com",
    ],
)
def test_a_store_behind_a_balancer_of_aws_is_not_aws(monkeypatch, host):
    use(monkeypatch, f"http://{host}", "AK", "SK")
    assert open_storage("s3://b/cp").server == host


@pytest.mark.parametrize("form", ["{}", "file:{}", "file://{}", "{}/", "{}//"])
def test_a_path_needs_no_scheme(tmp_path, form):
    """Nor does it mind one, or slashes at the end."""
    storage = open_storage(form.format(tmp_path))
    assert isinstance(storage, LocalStorage)
    assert (storage.is_tested, storage.is_versioned) == (True, False)


@pytest.mark.parametrize("where", ["relative/path", "", "oss://b/x", "nonsense://x/y", "s3:///x"])
def test_what_cannot_be_opened_is_a_mistake_in_the_settings(where):
    """A relative path, an unknown scheme, a package that is not installed."""
    for opening in (open_storage, open_state_files):
        with pytest.raises(SettingsError):
            opening(where)


def test_a_missing_package_is_named():
    with pytest.raises(SettingsError, match="ossfs"):
        open_storage("oss://bucket/x")


def test_without_credentials_nothing_hangs(moto_url, monkeypatch):
    """Not even if an instance role is searched for."""
    use(monkeypatch, moto_url, "AK", "SK")
    place = S3Place(moto_url, "AK", "SK")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")
    monkeypatch.delenv("AWS_EC2_METADATA_DISABLED")
    begun = time.monotonic()
    with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", url)
        with pytest.raises(StorageUnreachableError, match="no credentials") as caught:
            open_storage(place.uri).folder()
    assert time.monotonic() - begun < speed.patience()
    assert caught.value.exit_code is ExitCode.UNREACHABLE


@pytest.mark.s3
@pytest.mark.parametrize("wrong", ["id", "secret"])
def test_wrong_credentials_are_an_error_that_shows_none(radosgw_url, monkeypatch, wrong):
    """On a server that checks signatures; neither id nor secret appears in the message."""
    place = S3Place(radosgw_url, radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    keys = [radosgw.ACCESS_KEY, radosgw.SECRET_KEY]
    keys[wrong == "secret"] = "SOMETHINGWRONG"
    use(monkeypatch, radosgw_url, *keys)
    with pytest.raises(StorageUnreachableError) as caught:
        open_storage(place.uri).folder()
    assert caught.value.exit_code is ExitCode.UNREACHABLE
    assert not any(key in str(caught.value) for key in keys)


@pytest.mark.s3
def test_a_profile_in_the_shared_files_is_honoured(radosgw_url, monkeypatch, tmp_path):
    """Keys and endpoint of AWS_PROFILE, on a server that checks signatures."""
    place = S3Place(radosgw_url, radosgw.ACCESS_KEY, radosgw.SECRET_KEY)
    place.put("x")
    config, credentials = tmp_path / "config", tmp_path / "credentials"
    Path(config).write_text(f"[profile ops]\nendpoint_url = {radosgw_url}\nregion = us-east-1\n")
    Path(credentials).write_text(
        f"[ops]\naws_access_key_id = {radosgw.ACCESS_KEY}\n"
        f"aws_secret_access_key = {radosgw.SECRET_KEY}\n"
    )
    monkeypatch.setenv("AWS_CONFIG_FILE", str(config))
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(credentials))
    monkeypatch.setenv("AWS_PROFILE", "ops")
    assert listed(open_storage(place.uri)) == ["x"]


def test_a_bucket_as_a_whole_may_be_the_root(moto_url, monkeypatch):
    """Then every key is relative to nothing, a leading slash included."""
    use(monkeypatch, moto_url, "AK", "SK")
    place = S3Place(moto_url, "AK", "SK", prefix="")
    place.put_all(["a/x", "/b"])
    assert listed(open_storage(f"s3://{place.bucket}")) == ["/b", "a/x"]


def test_without_its_client_a_bucket_cannot_be_opened(monkeypatch):
    """S3's client is one package of many; the message says which one is not there."""
    for name in [each for each in sys.modules if each.startswith("orphangc.adapters.s3")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(SettingsError, match=r"s3:// needs the package s3fs"):
        open_storage("s3://bucket/x")
    assert server_of(canonical("s3://bucket/x")) == ""
