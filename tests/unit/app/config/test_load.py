"""The configuration file: what it may say, and what is said where it is wrong."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

from flinkstate.files import paths
from orphangc.app.config import configuration as config_module
from orphangc.app.config.configuration import Configuration
from orphangc.app.config.load import chosen_roots, load_configuration, overriding
from orphangc.app.config.schema import configuration_schema
from orphangc.core.model.shown import RunMode
from orphangc.errors import SettingsError

SCHEMA = Path(config_module.__file__).with_name("configuration.schema.json")
EXAMPLE: dict[str, Any] = {
    "mode": "quarantine",
    "schedule": "0 3 * * *",
    "timezone": "Europe/Berlin",
    "storage_roots": [{"root": "/x"}, {"root": "s3a://b/y/", "mode": "delete", "schedule": "2h"}],
}


@pytest.fixture
def load(tmp_path, monkeypatch):
    for name in ("ORPHANGC_MODE", "ORPHANGC_HTTP__PORT"):
        monkeypatch.delenv(name, raising=False)

    def load(content: Any = None, **more: Any) -> Configuration:
        path = tmp_path / "orphangc.yaml"
        path.write_text(yaml.safe_dump((EXAMPLE if content is None else content) | more))
        return load_configuration(path)

    return load


def test_each_root_has_what_the_file_says_for_all_unless_it_says_otherwise(load) -> None:
    """And is spelled in one way."""
    first, second = load().storage_roots
    assert (first.root, first.mode, first.schedule) == ("/x", RunMode.QUARANTINE, "0 3 * * *")
    assert (second.root, second.mode, second.schedule) == ("s3://b/y", RunMode.DELETE, "2h")


def test_defaults_do_nothing_but_report(load) -> None:
    found = load({"storage_roots": [{"root": "/x"}]})
    assert found.mode is RunMode.REPORT
    assert (found.schedule, found.timezone, found.keep_plans) == ("6h", "UTC", 3)
    assert (found.run_at_start, found.concurrent_runs) == (True, 1)
    assert (found.http.host, found.http.port) == ("127.0.0.1", 8080)
    assert (found.metrics.pushgateway, found.metrics.textfile) == (None, None)
    assert (found.log.format, found.log.level) == ("auto", "info")
    (root,) = found.storage_roots
    assert (root.engine, root.work, root.closed_world) == ("auto", None, False)


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "a key of a section": ({"http": {"prot": 1}}, "http.prot; did you mean port?"),
    "a key at the top": ({"schedules": "6h"}, "schedules; did you mean schedule?"),
    "a section that is none": ({"http": 7}, "http"),
    "a schedule": ({"schedule": "often"}, "schedule"),
    "a time zone": ({"timezone": "Mars/Olympus"}, "Mars/Olympus"),
    "a mode": ({"mode": "destroy"}, "mode"),
    "a port": ({"http": {"port": 70000}}, "http.port"),
    "a pushgateway": ({"metrics": {"pushgateway": "gateway:9091"}}, "metrics.pushgateway"),
    "no concurrent run": ({"concurrent_runs": 0}, "concurrent_runs"),
    "a switch for a port": ({"http": {"port": True}}, "http.port"),
    "a switch for a price": ({"http": {"price_per_gib_month": True}}, "price_per_gib_month"),
    "a switch for plans kept": ({"keep_plans": True}, "keep_plans"),
    "a switch for checkpoints kept": (
        {"storage_roots": [{"root": "/x", "expire": {"keep_last": True}}]},
        "expire.keep_last: true and false are no numbers",
    ),
    "a key of a policy": (
        {"storage_roots": [{"root": "/x", "expire": {"keep_lst": 1}}]},
        "expire.keep_lst: there is no such key",
    ),
    "a policy that is none": (
        {"storage_roots": [{"root": "/x", "expire": True}]},
        "expire: a mapping is needed",
    ),
    "no root": ({"storage_roots": [{"state": "/x"}]}, "root: it is missing"),
    "a key of two spellings": (
        {"storage_roots": [{"root": "/x", "extra_rot": []}]},
        "extra_rot; did you mean extra_root?",
    ),
    "an extra root": ({"storage_roots": [{"root": "/x", "extra_root": [""]}]}, "0: extra_root.0: "),
    "no plan kept": ({"keep_plans": 0}, "keep_plans"),
    "the same root twice": ({"storage_roots": [{"root": "/x"}, {"root": "file:///x/"}]}, "same"),
    "a root in a root": ({"storage_roots": [{"root": "s3://b"}, {"root": "s3a://b/x"}]}, "same"),
    "a root's schedule": ({"storage_roots": [{"root": "/x", "schedule": "1x"}]}, "roots.0"),
    "a root's key": ({"storage_roots": [{"root": "/x", "schedules": "1h"}]}, "roots.0.schedules;"),
    "work without spark": (
        {"storage_roots": [{"root": "/x", "work": "/w", "engine": "local"}]},
        "engine: spark",
    ),
    "plans in a root": ({"plans": "/x/plans"}, "inside the storage root"),
    "a variable that is not set": ({"http": {"host": "${NOT_SET_AT_ALL}"}}, "http.host"),
    "a variable in a list": ({"storage_roots": [{"root": "${NOT_SET}"}]}, "storage_roots.0.root"),
}


@pytest.mark.parametrize("kind", WRONG)
def test_what_is_wrong_is_said_in_one_line(load, kind) -> None:
    """With the place in the file."""
    change, said = WRONG[kind]
    with pytest.raises(SettingsError) as refused:
        load(**change)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "orphangc.yaml" in str(refused.value) or kind == "plans in a root"


def test_all_that_is_wrong_is_named_at_once(load, monkeypatch) -> None:
    """A file is mended in one go: unknown keys, wrong values and unset variables of every part."""
    monkeypatch.delenv("NOT_SET", raising=False)
    roots = [
        {"root": "/x", "grace_perod": "72h", "closed_world": "yes", "max_delete_share": 7},
        {"root": "/${NOT_SET}", "quarantine_period": "x"},
    ]
    with pytest.raises(SettingsError) as refused:
        load(
            {"mod": "report", "timezone": "Mars/Olympus", "http": {"prot": 1, "port": -1}},
            storage_roots=roots,
            discovery={"defaults": {"extra_rot": [], "mode": "x"}},
        )
    for said in (
        ": 11 problems: (1) ",
        "unknown key mod; did you mean mode?",
        "timezone: ",
        "unknown key http.prot; did you mean port?",
        "http.port: ",
        "unknown key storage_roots.0.grace_perod; did you mean grace_period?",
        "storage_roots.0: closed_world: ",
        "storage_roots.0: max_delete_share: ",
        "storage_roots.1.root: the variable 'NOT_SET' is not set",
        "storage_roots.1: quarantine_period: ",
        "unknown key discovery.defaults.extra_rot; did you mean extra_root?",
    ):
        assert said in str(refused.value)


def test_a_hint_names_a_word_that_is_accepted_there(load) -> None:
    """An option's word of a storage root is known by its place, and not offered elsewhere."""
    (root,) = load({"storage_roots": [{"root": "/x", "extra_root": ["/y"]}]}).storage_roots
    assert root.extra_roots == ("/y",)
    with pytest.raises(SettingsError, match="extra_root; it belongs to a storage root"):
        load({"extra_root": ["/y"], "storage_roots": [{"root": "/x"}]})
    with pytest.raises(SettingsError, match=r"discovery\.empty_rots; did you mean empty_roots\?"):
        load(discovery={"empty_rots": ["/y"]})
    load({"discovery": {"namespaces": ["flink"], "defaults": {"extra_root": ["s3://b/y"]}}})


def test_a_link_to_a_root_is_the_same_place(load, tmp_path) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "root")
    roots = [{"root": str(tmp_path / "root")}, {"root": str(tmp_path / "link" / "below")}]
    with pytest.raises(SettingsError, match="contain, the same place"):
        load({"storage_roots": roots})


def test_neighbours_with_a_common_beginning_are_two_places(load) -> None:
    """A prefix of a name is no folder."""
    assert len(load({"storage_roots": [{"root": "/x"}, {"root": "/xy"}]}).storage_roots) == 2


def test_secrets_come_from_the_environment_and_are_never_shown(load, monkeypatch) -> None:
    """``$$`` is a dollar sign."""
    monkeypatch.setenv("PASSWORD", "hunter2")
    found = load(
        {
            "storage_roots": [{"root": "/x$$y", "flink_rest": ["http://me:${PASSWORD}@h:1"]}],
            "metrics": {"pushgateway": "https://you:${PASSWORD}@g:1"},
        }
    )
    (root,) = found.storage_roots
    assert root.root == "/x$y"
    assert root.bare.flink_rest == ("http://me:hunter2@h:1",)
    assert found.metrics.pushgateway == "https://you:hunter2@g:1"
    shown = json.dumps(found.model_dump(mode="json"))
    assert "hunter2" not in shown
    assert "http://h:1" in shown


def test_the_environment_wins_over_the_file(load, monkeypatch) -> None:
    """Of a section only the one value that it names."""
    monkeypatch.setenv("ORPHANGC_MODE", "delete")
    monkeypatch.setenv("ORPHANGC_HTTP__PORT", "9999")
    found = load(http={"host": "0.0.0.0"})
    assert [each.mode for each in found.storage_roots] == [RunMode.DELETE, RunMode.DELETE]
    assert (found.http.host, found.http.port) == ("0.0.0.0", 9999)


def test_what_the_environment_says_wrong_is_reported_by_its_place(load, monkeypatch) -> None:
    monkeypatch.setenv("ORPHANGC_HTTP__PROT", "1")
    with pytest.raises(SettingsError, match=r"http\.prot"):
        load()


def test_roots_are_chosen_by_any_spelling(load) -> None:
    """In the order of the file."""
    found = load()
    assert [each.root for each in chosen_roots(found, ["s3n://b/y", "/x/"])] == ["/x", "s3://b/y"]
    assert len(chosen_roots(found, None)) == 2
    with pytest.raises(SettingsError, match="did you mean s3://b/y"):
        chosen_roots(found, ["s3://b/yy"])


@pytest.mark.parametrize(
    ("defaults", "said"),
    [
        ("{grace_perod: 96h}", "unknown key discovery.defaults.grace_perod; did you mean grace_"),
        ("{grace_period: 1h}", "discovery.defaults: grace_period below 24h is refused"),
        ("{root: s3://a/b}", "discovery.defaults.root: discovery itself"),
        ("{closed_world: true}", "discovery.defaults.closed_world"),
        ("{unclear: []}", "unknown key discovery.defaults.unclear"),
    ],
)
def test_settings_of_discovered_roots_are_checked_before_one_is_discovered(
    tmp_path, defaults, said
) -> None:
    """A misspelled margin would be found only when the first deployment comes."""
    path = tmp_path / "orphangc.yaml"
    path.write_text(f"discovery:\n  namespaces: [flink]\n  defaults: {defaults}\n")
    with pytest.raises(SettingsError, match=re.escape(said)):
        load_configuration(path)


def test_the_shipped_schema_is_that_of_the_program() -> None:
    """``PYTHONPATH=tests python -m support.accepted`` writes it."""
    assert json.loads(SCHEMA.read_text()) == configuration_schema()


def test_the_schema_accepts_and_refuses_what_the_program_does() -> None:
    """Where a schema can express it."""
    jsonschema = pytest.importorskip("jsonschema", reason="the schema's checker is not installed")
    checker = jsonschema.Draft202012Validator(configuration_schema())
    assert checker.is_valid(EXAMPLE)
    for kind in ("a key of a section", "a key at the top", "a mode", "a port", "a root's key"):
        assert not checker.is_valid(EXAMPLE | WRONG[kind][0]), kind
    roots = [{"root": "/x", "grace_period": each} for each in ("72h", "0", "1d12h", "90s")]
    assert all(checker.is_valid({"storage_roots": [each]}) for each in roots)
    roots = [{"root": "/x", "grace_period": each} for each in ("soon", "", "24", 24)]
    assert not any(checker.is_valid({"storage_roots": [each]}) for each in roots)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("ORPHANGC_HTTP", "tcp://10.0.0.1:80"),
        ("ORPHANGC_STORAGE_ROOTS", "[{"),
        ("ORPHANGC_MODE", "Delete"),
    ],
)
def test_a_wrong_variable_is_named(load, monkeypatch, name: str, value: str) -> None:
    """Kubernetes makes variables of services by itself."""
    monkeypatch.setenv(name, value)
    with pytest.raises(SettingsError, match=f"overridden by {name}: "):
        load()


def test_what_is_no_yaml_is_reported_without_its_line(tmp_path) -> None:
    """It may hold a password."""
    path = tmp_path / "orphangc.yaml"
    path.write_text("storage_roots:\n- root: /x\n  flink_rest: [http://u:hunter2@h:8081\n")
    with pytest.raises(SettingsError, match=r"is no YAML: .* at line 4") as caught:
        load_configuration(path)
    assert "hunter2" not in str(caught.value)


def test_a_variable_in_a_list_in_one_line_needs_quotes(tmp_path) -> None:
    """Braces are YAML's own there, as in the README's example."""
    path = tmp_path / "orphangc.yaml"
    path.write_text("storage_roots:\n- {root: ${BUCKET}, state: s3://ops/orphangc}\n")
    with pytest.raises(SettingsError, match=r"at line 2, column 11; .*quotes: \"\$\{NAME\}\""):
        load_configuration(path)
    path.write_text('storage_roots:\n- {root: "${BUCKET}", state: s3://ops/orphangc}\n')
    with pytest.raises(SettingsError, match="'BUCKET' is not set"):
        load_configuration(path)


def test_a_tag_that_its_text_does_not_fit_is_reported(tmp_path) -> None:
    """PyYAML raises no error of its own for it."""
    path = tmp_path / "orphangc.yaml"
    path.write_text("storage_roots: !!int ''\n")
    with pytest.raises(SettingsError, match="is no YAML: a value of it is no number"):
        load_configuration(path)


def test_what_overrides_the_file_can_be_listed(load, monkeypatch) -> None:
    """By name: values may be secret."""
    monkeypatch.setenv("ORPHANGC_MODE", "delete")
    monkeypatch.setenv("ORPHANGC_SOMETHING_ELSE", "me")
    load()
    assert overriding() == ["ORPHANGC_MODE"]


def test_a_root_that_another_one_states_to_be_empty_is_not_stated_so_to_itself(load) -> None:
    """Its own run would fail, and it is searched anyway; all others take the statement."""
    roots = [{"root": "/a", "empty_roots": ["/b"]}, {"root": "/b"}, {"root": "/c"}]
    first, second, third = load({"storage_roots": roots}).storage_roots
    assert (first.empty_roots, second.empty_roots, third.empty_roots) == (("/b",), (), ("/b",))
    for each in (first, second, third):
        type(each).model_validate(each.model_dump())


def test_many_roots_are_compared_by_names_that_are_found_once(load, monkeypatch) -> None:
    """Each search of them reads the table of mounts: fifty roots took more than a minute."""
    reads = []
    real = paths.table_text
    monkeypatch.setattr(paths, "table_text", lambda: reads.append(1) or real())
    roots = [
        {"root": f"/r/{number}", "extra_root": ["/e"], "ended_job": [f"{number:032x}"]}
        for number in range(20)
    ]
    first, *_ = load({"storage_roots": roots}).storage_roots
    assert {each.places[1] for each in first.sibling_statements} == {"/e"}
    assert len(reads) < 10 * len(roots)


def test_options_of_a_bucket_are_never_shown(load) -> None:
    """A secret may be one of them; a plan has none at all."""
    secret = {"storage_options": {"key": "AK", "secret": "p4ssw0rd", "anon": False}}
    (root,) = load({"storage_roots": [{"root": "s3://b/x", **secret}]}).storage_roots
    assert root.storage_options["secret"] == "p4ssw0rd"
    assert json.loads(root.model_dump_json())["storage_options"] == dict.fromkeys(
        ("key", "secret", "anon"), "***"
    )
    assert "p4ssw0rd" not in str(root.bare)


@pytest.mark.parametrize(
    ("roots", "said"),
    [
        ([{"root": "/x", "storage_options": {"auto_mkdir": True}}], "a local folder has none"),
        (
            [{"root": "s3://b/x", "work": "s3://b/w", "storage_options": {"a": 1}}],
            "environment only",
        ),
        (
            [{"root": "s3://b/x", "engine": "spark", "storage_options": {"a": 1}}],
            "environment only",
        ),
        (
            [{"root": "s3://b/x", "storage_options": {"profile": "a"}}, {"root": "s3a://b/y"}],
            "another storage root of s3://b/ has other ones",
        ),
    ],
)
def test_options_that_a_bucket_cannot_have_are_refused(load, roots, said) -> None:
    """Two ways to one bucket could be two buckets."""
    with pytest.raises(SettingsError, match=re.escape(said)):
        load({"storage_roots": roots})
