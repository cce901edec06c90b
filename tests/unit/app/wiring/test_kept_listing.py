"""Which listing a later run goes on with: one of the same storage, not only of the same URI."""

import pytest

from flinkstate.places.locations import canonical
from orphangc.app.wiring.compose import _kept_in
from orphangc.app.wiring.searched_places import UnopenedStorage


@pytest.mark.parametrize(
    "name",
    [
        *("AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_PROFILE", "AWS_CONFIG_FILE"),
        *("AZURE_STORAGE_ACCOUNT_NAME", "AZURE_STORAGE_CONNECTION_STRING", "FSSPEC_GS_PROJECT"),
        *("HADOOP_CONF_DIR", "STORAGE_EMULATOR_HOST"),
    ],
)
def test_a_storage_that_another_environment_names_has_another_listing(name, monkeypatch, tmp_path):
    """Two accounts of Azure have a container each of the same name; the URI need not name one."""
    storage = UnopenedStorage(canonical("abfs://flink/cp"), "")

    def identity(value: str) -> object:
        monkeypatch.setenv(name, value)
        return _kept_in(tmp_path, storage)._identity

    assert identity("dev") == identity("dev")
    assert identity("dev") != identity("prod")
