"""The commands that a configuration file drives: run, serve, config."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from orphangc.app.cli.application import app, config_commands
from orphangc.app.cli.output import is_json, print_json, print_tables
from orphangc.app.console import options as o
from orphangc.app.console.lazy import lazily
from orphangc.errors import ExitCode

if TYPE_CHECKING:
    from orphangc.app.config import load as loading
    from orphangc.app.daemon import service as serving
    from orphangc.app.runner import run_all as commanding
    from orphangc.flink.compatibility import declarations
else:  # each command loads what it needs alone
    commanding = lazily("orphangc.app.runner.run_all")
    declarations = lazily("orphangc.flink.compatibility.declarations")
    loading = lazily("orphangc.app.config.load")
    serving = lazily("orphangc.app.daemon.service")


@app.command(epilog="Example: orphangc run --config orphangc.yaml --only s3://bucket/checkpoints")
def run(
    *,
    config: o.ConfigFile,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run this storage root and no other. Repeatable.", metavar="ROOT"),
    ] = None,
    child: Annotated[bool, typer.Option("--child", hidden=True)] = False,
    output: o.OutputOption = None,
) -> None:
    """Run every configured storage root once: plan, then as far as its mode allows."""
    records, code = commanding.run_configured(config, only or (), is_child=child)
    if is_json(output):
        print_json([record.model_dump(mode="json") for record in records])
    else:
        print_tables(commanding.record_tables(records))
    if code != ExitCode.DONE:
        raise typer.Exit(code)


@app.command(epilog="Example: orphangc serve --config orphangc.yaml")
def serve(*, config: o.ConfigFile) -> None:
    """Run every configured storage root by its schedule, and tell of it over HTTP."""
    serving.serve(config)


@app.command(hidden=True)
def records(
    *,
    config: o.ConfigFile,
    only: Annotated[list[str] | None, typer.Option()] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write those on stdin.")] = False,
) -> None:
    """Print what is recorded of earlier runs, as JSON: how the daemon reads it."""
    if keep:
        kept = commanding.keep_records(config, sys.stdin.read())
        print_json([record.model_dump(mode="json") for record in kept])
    else:
        print_json(commanding.known_records(config, only or ()))


@config_commands.command("schema", epilog="Example: orphangc config schema > orphangc.schema.json")
def config_schema(
    *,
    of: Annotated[o.SchemaOf, typer.Option(help="Of which file.")] = o.SchemaOf.CONFIGURATION,
) -> None:
    """Print the JSON schema of the configuration file, or of the declarations file."""
    if of is o.SchemaOf.DECLARATIONS:
        print_json(declarations.declarations_schema())
    else:
        print_json(loading.configuration_schema())


@config_commands.command("show", epilog="Example: orphangc config show --config orphangc.yaml")
def config_show(*, config: o.ConfigFile) -> None:
    """Print the configuration that holds, environment included, without credentials."""
    implied = {"storage_roots": {"__all__": {"siblings"}}}
    print_json(loading.load_configuration(config).model_dump(mode="json", exclude=implied))
