"""The commands that read a configuration file: run, serve, config."""

import sys
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, print_json, print_tables
from orphangc.app.cli.application import app, config_commands
from orphangc.app.console import options as o
from orphangc.app.console.exit import complain, is_signal, print_steps
from orphangc.errors import ExitCode, OrphanGcError


@app.command(epilog="Example: orphangc run --config orphangc.yaml --only s3://bucket/checkpoints")
def run(
    *,
    config: o.ConfigFile,
    only: Annotated[
        list[str] | None,
        typer.Option(help="Run only this storage root. Repeatable.", metavar="ROOT"),
    ] = None,
    child: Annotated[bool, typer.Option("--child", hidden=True)] = False,
    output: o.OutputOption = None,
) -> None:
    """Run every configured storage root once: plan, then act as far as its mode allows."""
    from orphangc.app.config.load import chosen_roots
    from orphangc.app.runner import run_root

    configuration = run_root.loaded(config, is_remembered=True, is_child=child)
    chosen = chosen_roots(configuration, only)
    records, code = run_root.run_configured(configuration, chosen, is_child=child)
    if is_signal(code):
        complain(f"interrupted: {run_root.interrupted(records)}")
    if is_json(output):
        print_json([record.model_dump(mode="json") for record in records])
    else:
        from orphangc.app.render.next_steps import after_run
        from orphangc.app.wiring.compose import is_versioned

        print_tables(run_root.record_tables(records))
        print_steps(after_run(records, config, chosen, is_versioned))
    if code != ExitCode.DONE:
        raise typer.Exit(code)


@app.command(epilog="Example: orphangc serve --config orphangc.yaml")
def serve(*, config: o.ConfigFile) -> None:
    """Run every configured storage root on its schedule, and serve status and metrics over HTTP."""
    from orphangc.app.daemon.service import serve

    serve(config)


@app.command(hidden=True)
def records(
    *,
    config: o.ConfigFile,
    only: Annotated[list[str] | None, typer.Option()] = None,
    keep: Annotated[bool, typer.Option("--keep", help="Write the records given on stdin.")] = False,
) -> None:
    """Print the records of earlier runs as JSON, for the daemon."""
    from orphangc.app.config.load import chosen_roots
    from orphangc.app.runner.run_root import keep_records, known_records, loaded

    chosen = chosen_roots(loaded(config), only)
    if keep:
        kept = keep_records(chosen, sys.stdin.read())
        print_json([record.model_dump(mode="json") for record in kept])
    else:
        print_json(known_records(chosen))


@app.command(hidden=True)
def roots(*, config: o.ConfigFile) -> None:
    """Print the settings of all storage roots as JSON, discovered ones included, for the daemon;
    or why there are none.
    """
    from flinkstate.text.redaction import redacted
    from orphangc.app.config.load import IMPLIED
    from orphangc.app.wiring.discovering import load_and_discover

    try:
        found = load_and_discover(config).configuration.storage_roots
    except OrphanGcError as err:
        print_json({"storage_roots": [], "problem": redacted(str(err))})
        raise
    shown = [each.model_dump(mode="json", exclude=set(IMPLIED)) for each in found]
    print_json({"storage_roots": shown, "problem": None})


@config_commands.command("schema", epilog="Example: orphangc config schema > orphangc.schema.json")
def config_schema(
    *,
    of: Annotated[
        o.SchemaOf, typer.Option(help="File that the schema describes.")
    ] = o.SchemaOf.CONFIGURATION,
) -> None:
    """Print the JSON schema of the configuration file, or of the declarations file."""
    if of is o.SchemaOf.DECLARATIONS:
        from flinkstate.compatibility.declarations import declarations_schema

        print_json(declarations_schema())
    else:
        from orphangc.app.config.schema import configuration_schema

        print_json(configuration_schema())


@config_commands.command("show", epilog="Example: orphangc config show --config orphangc.yaml")
def config_show(*, config: o.ConfigFile) -> None:
    """Print the effective configuration, environment included, without credentials."""
    from orphangc.app.config.load import as_written, load_configuration

    found = load_configuration(config)
    roots = [as_written(each) for each in found.storage_roots]
    print_json({**found.model_dump(mode="json"), "storage_roots": roots})
