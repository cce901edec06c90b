"""A command loads what it needs and nothing else, and asks a storage no more than it must.

Modules and requests are counted, never seconds: they cost the same on every machine.
"""

import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import pytest
import typer

from bench.synth.running import Synth, synth_server
from orphangc.app.cli import app
from orphangc.app.config.configuration import ScheduledRoot
from orphangc.app.console.options import DEFAULTS
from orphangc.core.model.settings import StorageRootSettings, parse_duration
from support.processes import finished

HEAVY = {"pyarrow", "numpy", "pandas", "pyspark", "fsspec", "s3fs", "botocore", "aiobotocore"}
NEVER = {"pandas", "pyspark", "py4j", "fastapi", "uvicorn", "kubernetes", "kazoo", "jinja2",
         "apscheduler", "prometheus_client", "pydantic_settings", "yaml"}  # fmt: skip
"""What a plan needs only for Spark, a report, HA metadata or the daemon."""
OF_S3 = {"s3fs", "fsspec", "aiobotocore", "aiohttp", "botocore", "urllib3", "httpx", "rich"}
"""s3fs and what its client loads, up to an HTTP client that is there for Flink's REST API."""
KINDS = ("list", "list_v1", "bucket", "buckets", "head_bucket", "get", "head", "other")
START = """
import sys
from orphangc.app.cli import main
{first}
try:
    main()
finally:
    sys.stderr.write("\\n" + " ".join(sys.modules))
"""
SHOW_HELP = """
import contextlib, io, sys
from orphangc.app.cli import app
for command in {commands}:
    with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):
        app([*command, "--help"])
print(*sys.modules)
"""


UNHURRIED = """
from datetime import timedelta
from orphangc.adapters.object_store import answer_clock as store_time
from orphangc.app.wiring import compose
compose._STREAMS = 1
store_time._FRESH = timedelta(days=1)
"""
"""On a slow machine, an idle stream lists half of what another may have before it, and a store is
asked for its time again: one request more for each."""


def loaded_by(*arguments: str, first: str = "", **environment: str) -> set[str]:
    """Return the modules that a command has loaded when it ends; ``first`` is run before it."""
    done = finished(
        [sys.executable, "-c", START.format(first=first), *arguments],
        env={**os.environ, **environment},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stderr.splitlines()[-1].split())


def packages(modules: set[str]) -> set[str]:
    return {each.partition(".")[0] for each in modules}


@pytest.mark.parametrize("option", ["--version", "--help"])
def test_version_and_help_load_neither_settings_nor_tables(option: str) -> None:
    """Half of the modules are Python's own."""
    modules = loaded_by(option)
    assert (
        packages(modules) & (HEAVY | NEVER | OF_S3 | {"pydantic", "structlog", "asyncio"}) == set()
    )
    assert len(modules) <= 320


@pytest.fixture(scope="module")
def idle() -> Iterator[Synth]:
    """Yield a storage of 1,000 objects: one job with two checkpoints."""
    with synth_server(keys=1000, live=500) as synth:
        yield synth


def plan_of(root: str, folder: Path) -> Sequence[str]:
    options = ("--ended-job", "all", "--closed-world", "--output", "json")
    return ("plan", root, "--state", f"{folder}/state", "--out", f"{folder}/plan", *options)


def test_a_plan_of_an_idle_job_sends_ten_requests(idle: Synth, tmp_path: Path) -> None:
    """Seven lists (of the bucket on both sides of the storage root, of folders, names twice, all,
    names again) and two checkpoints.
    """
    idle.control(reset=1)
    loaded_by(*plan_of(idle.uri, tmp_path), first=UNHURRIED, **idle.environment)
    stats = idle.stats()
    sent = {kind: n for kind in KINDS if (n := stats.get(f"requests_{kind}", 0))}
    assert sent == {"list": 7, "bucket": 1, "get": 2}


def test_a_plan_of_a_bucket_loads_what_it_needs(idle: Synth, tmp_path: Path) -> None:
    """And neither Spark nor a web server."""
    modules = loaded_by(*plan_of(idle.uri, tmp_path), **idle.environment)
    assert packages(modules) & NEVER == set()
    assert len(modules) <= 1242


def test_a_plan_of_local_files_loads_no_client_of_a_store(tmp_path: Path) -> None:
    root = tmp_path / "root" / ("a" * 32)
    (root / "taskowned").mkdir(parents=True)
    modules = loaded_by(*plan_of(str(root.parent), tmp_path))
    assert packages(modules) & (NEVER | OF_S3) == set()
    assert len(modules) <= 764


def commands(
    group: click.Command, path: tuple[str, ...] = ()
) -> dict[tuple[str, ...], click.Command]:
    found = {path: group}
    for name, each in getattr(group, "commands", {}).items():
        found |= commands(each, (*path, name))
    return found


COMMANDS = commands(typer.main.get_command(app))


def test_help_loads_neither_arrow_nor_a_storage_client() -> None:
    """Of every command and group: the options alone say what the help shows."""
    code = SHOW_HELP.format(commands=[list(each) for each in COMMANDS])
    loaded = finished([sys.executable, "-c", code], check=True)
    modules = set(loaded.stdout.split())
    assert "orphangc.app.console.options" in modules
    assert HEAVY & modules == set()
    assert {each for each in modules if each.startswith("orphangc.adapters")} == set()


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_an_option_has_the_default_of_its_setting(command: tuple[str, ...]) -> None:
    """``plan`` and the configuration file mean the same where they say nothing."""
    for each in COMMANDS[command].params:
        setting = StorageRootSettings.model_fields.get(each.name or "")
        if setting is None or each.default in (None, False) or command == ("sweep",):
            continue
        default = setting.get_default()
        is_text = isinstance(each.default, str) and not isinstance(default, str)
        assert (parse_duration(each.default) if is_text else each.default) == default


@pytest.mark.parametrize("name", DEFAULTS)
def test_what_the_options_repeat_is_what_the_settings_say(name: str) -> None:
    """The options cannot ask the settings: these would load Pydantic for a help text."""
    said, default = DEFAULTS[name], ScheduledRoot.model_fields[name].get_default()
    is_duration = isinstance(said, str) and not isinstance(default, str)
    assert (parse_duration(said) if is_duration else said) == default
