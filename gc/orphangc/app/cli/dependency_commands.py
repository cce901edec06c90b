"""The commands that report what jobs still need: registry, self-sustained, users-of."""

from pathlib import Path
from typing import Annotated, Any

import typer

from flinkstate.tables.printing import show
from orphangc.app.cli.application import app, registry_commands
from orphangc.app.console import options as o
from orphangc.app.console.exit import end
from orphangc.app.console.options import SEARCHED, Values, gathered

_CYCLE = (
    *("registry", "registry_wait", *SEARCHED, "ended_job", "owner", "flink_rest"),
    *("kubernetes_ha", "zookeeper_ha", "alias", "state", "quiet_period", "allow_short_margins"),
    "unsafe_acknowledge_root",
)
"""Settings of the cycle that both sides of the relation between jobs and snapshots read."""


@registry_commands.command(
    "export", epilog="Example: orphangc registry export ROOT --job ID --out FILE"
)
def registry_export(
    *,
    root: Annotated[str, typer.Argument(help="The storage root.", metavar="ROOT")],
    job: Annotated[str, typer.Option(help="Job id.")],
    out: Annotated[Path, typer.Option(help="File to write; .gz compresses it.")],
    flink_rest: Annotated[
        str | None, typer.Option(help="Flink REST endpoint of the running job.", metavar="URL")
    ] = None,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Write a registry snapshot derived from retained checkpoints and, with --flink-rest, from the
    running job.
    """
    from orphangc.app.commands.operate.registry_snapshots import export_snapshot

    values = {"root": root, "alias": alias}
    _show_snapshot(export_snapshot(values, job=job, out=out, flink_rest=flink_rest), output)


def _show_snapshot(document: dict[str, Any], output: o.Output | None) -> None:
    from orphangc.app.commands.operate.registry_snapshots import snapshot_tables

    show(output, document, lambda: snapshot_tables(document))


@registry_commands.command("show", epilog="Example: orphangc registry show snapshot.jsonl")
def registry_show(
    *,
    file: Annotated[str, typer.Argument(help="A registry snapshot.")],
    output: o.OutputOption = None,
) -> None:
    """Read a registry snapshot, check it, and show its contents."""
    from orphangc.app.commands.operate.registry_snapshots import show_snapshot

    _show_snapshot(show_snapshot(file), output)


@app.command(
    "self-sustained",
    epilog="Example: orphangc self-sustained s3://bucket/checkpoints --job ID"
    " --snapshot s3://bucket/savepoints/savepoint-1 --state s3://bucket/orphangc --closed-world",
)
@gathered("settings", *_CYCLE)
def self_sustained(
    *,
    root: Annotated[
        str, typer.Argument(help="The storage root: holds the job's directory.", metavar="ROOT")
    ],
    job: Annotated[str, typer.Option(help="Job id.")],
    snapshot: Annotated[
        str | None,
        typer.Option(
            help="Checkpoint or savepoint that the job was restored from; without it all that"
            " is not the job's own.",
            metavar="PATH",
        ),
    ] = None,
    wait: Annotated[
        str | None,
        typer.Option(help="Check a second time after this duration, e.g. 10m.", metavar="DURATION"),
    ] = None,
    settings: Values,
    output: o.OutputOption = None,
) -> None:
    """Check whether a job still needs files of the snapshot that it was restored from.

    The result of one check is ``seen``; the exit code is 0 if the check was conclusive. A yes
    becomes ``state_self_sustained`` only after a second check with a newer checkpoint between them
    (``--state`` or ``--wait``), or at once if the job has ended and its directory has been still
    for the quiet period. Until then it is null.
    """
    from orphangc.app.commands.operate.self_sustained import check_tables, exit_code, self_sustained

    document = self_sustained({"root": root, **settings}, job=job, snapshot=snapshot, wait=wait)
    show(output, document, lambda: check_tables(document))
    end(exit_code(document), document["why"])


@app.command(
    "users-of",
    epilog="Example: orphangc users-of s3://bucket/savepoints/savepoint-1 s3://bucket/checkpoints"
    " --state s3://bucket/orphangc --closed-world",
)
@gathered("settings", *_CYCLE, "pin")
def users_of(
    *,
    snapshot: Annotated[str, typer.Argument(help="A checkpoint or savepoint.", metavar="SNAPSHOT")],
    roots: Annotated[
        list[str] | None,
        typer.Argument(
            help="Storage roots whose checkpoints may need it; by default the one that holds"
            " the snapshot's own job.",
            metavar="[ROOT]...",
        ),
    ] = None,
    settings: Values,
    output: o.OutputOption = None,
) -> None:
    """List the jobs and checkpoints that still need files of a snapshot.

    It is ``self-sustained`` from the other side, by the same cycle: what leaves that unknown leaves
    this unknown. ``confirmed`` is false while any job that was seen has not ended: its pending
    checkpoint may need the snapshot.
    """
    from orphangc.app.commands.operate.users_of import exit_code, find_users, user_tables

    document = find_users(snapshot, roots or (), settings)
    show(output, document, lambda: user_tables(document))
    end(exit_code(document), document["statement"])
