"""The command that shows what resources and configuration files say."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import show
from orphangc.app.cli.application import app
from orphangc.app.console import options as o
from orphangc.app.console.exit import end
from orphangc.app.console.setting_options import Values, gathered
from orphangc.errors import ExitCode


@app.command(epilog="Example: orphangc discover --namespace flink --as-config > orphangc.yaml")
@gathered("settings", "flink_rest", "alias")
def discover(
    *,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file; its discovery is read.")
    ] = None,
    namespace: Annotated[
        list[str] | None, typer.Option(help="Kubernetes namespace to read. Repeatable.")
    ] = None,
    file: Annotated[
        list[Path] | None,
        typer.Option(help="Flink's config.yaml or flink-conf.yaml to read. Repeatable."),
    ] = None,
    settings: Values,
    as_config: Annotated[
        bool, typer.Option("--as-config", help="Print only the equivalent configuration, as YAML.")
    ] = False,
    output: o.OutputOption = None,
) -> None:
    """Show storages, clusters, HA, jobs and savepoints that Kubernetes resources and configuration
    files name, each with its field. Exit code 10: a source cannot be read or understood, or shows
    nothing. Exit code 2: a --file is not there; with --as-config, nothing names a storage root.
    """
    from orphangc.app.commands.discover.show_discovery import (
        discovery_of_call,
        discovery_tables,
        document_of,
        yaml_of,
    )

    given = {"namespaces": namespace, "files": file, **settings}
    found = discovery_of_call(config, given)
    if as_config:
        typer.echo(yaml_of(found), nl=False)
    else:
        show(output, document_of(found), lambda: discovery_tables(found))
    if found.world.unclear:
        first = found.world.unclear[0]
        end(ExitCode.UNREACHABLE, f"{first.origin}: {first.why}")
    if as_config and not found.configuration.storage_roots:
        end(ExitCode.USAGE, "nothing that was read names a storage root: there is no configuration")
