"""No secret of a resource is shown by what is said of it."""

import pytest

from orphangc.core.discovery.discovered_world import world_of_discovery
from orphangc.core.discovery.discovery_document import discovery_document
from orphangc.core.discovery.sources.read_resources import FileText
from support.discovered import ALL, blocks_of, found
from support.flink_resources import a_deployment, a_status, configuration

SECRET = "Zq7Xw"


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("flink-conf.yaml", f"s3.secret {SECRET}"),
        ("config.yaml", f"key={SECRET}"),
        ("flink-conf.yaml", f"a:\n  secret: {SECRET}"),
        ("config.yaml", f"a: [\n  secret: {SECRET}"),
        ("flink-conf.yaml", f"secret: {SECRET}\nsecret: other"),
        ("config.yaml", f"secret: {SECRET}\nsecret: other"),
    ],
)
def test_a_line_that_is_not_understood_is_named_without_its_value(name, text) -> None:
    """Whatever the line lacks."""
    shown = found([], files=[FileText(path=f"/c/{name}", text=text)])
    assert ALL in blocks_of(world_of_discovery(shown))
    assert SECRET not in repr(shown)


@pytest.mark.parametrize(
    "uri",
    [
        f"abfss://c@a.dfs.core.windows.net/ck?sv=1&sig={SECRET}",
        f"s3://prod/ck?X-Amz-Signature={SECRET}",
        f"s3://prod/token={SECRET}/x",
    ],
)
def test_a_place_that_holds_a_credential_blocks_and_is_shown_without_it(uri) -> None:
    """In an option, in a status."""
    saved = a_status(job={"upgradeSavepointPath": uri})
    for each in (a_deployment(config=configuration(uri)), a_deployment(status=saved)):
        shown = found([each])
        world = world_of_discovery(shown)
        assert blocks_of(world) == (ALL,)
        assert SECRET not in repr(shown) + repr(discovery_document(shown, unclear=world.unclear))
