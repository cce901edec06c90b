"""The command line: parses, calls, prints, exits. Data on stdout, logs and progress on stderr."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer
from rich.console import Console, RenderableType

from orphangc import __version__
from orphangc.errors import ExitCode
from orphangc.shell import options as o
from orphangc.shell.exits import complain, run_to_exit
from orphangc.shell.lazily import lazily
from orphangc.shell.logs import configure_logs

if TYPE_CHECKING:
    from orphangc.shell import (
        commanding,
        demonstrating,
        diagnosing,
        explaining,
        exporting,
        inspecting,
        loading,
        planning,
        serving,
        sweeping,
        undeleting,
    )
    from orphangc.shell.render import tables
else:  # each command loads what it needs: the daemon has no use for Arrow, nor a plan for a server
    commanding = lazily("orphangc.shell.commanding")
    demonstrating = lazily("orphangc.shell.demonstrating")
    diagnosing = lazily("orphangc.shell.diagnosing")
    explaining = lazily("orphangc.shell.explaining")
    exporting = lazily("orphangc.shell.exporting")
    inspecting = lazily("orphangc.shell.inspecting")
    loading = lazily("orphangc.shell.loading")
    planning = lazily("orphangc.shell.planning")
    serving = lazily("orphangc.shell.serving")
    sweeping = lazily("orphangc.shell.sweeping")
    undeleting = lazily("orphangc.shell.undeleting")
    tables = lazily("orphangc.shell.render.tables")

__all__ = ["app", "main"]

app = typer.Typer(
    name="orphangc",
    help="Finds and removes orphaned Apache Flink checkpoint files; every doubt keeps the file.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
registry = typer.Typer(
    help="Registry snapshots: what Flink still uses.",
    epilog="Example: orphangc registry show snapshot.jsonl",
    no_args_is_help=True,
)
app.add_typer(registry, name="registry")
config_commands = typer.Typer(
    help="The configuration file of run and serve.",
    epilog="Example: orphangc config show --config orphangc.yaml",
    no_args_is_help=True,
)
app.add_typer(config_commands, name="config")


def _print_json(data: Any) -> None:
    sys.stdout.write(json.dumps(data, indent=1, default=str) + "\n")


def _print(tables: list[RenderableType]) -> None:
    console = Console(soft_wrap=False, width=None if sys.stdout.isatty() else 120)
    for table in tables:
        console.print(table)


def _is_json(output: o.Output | None) -> bool:
    return o.is_json(output, is_terminal=sys.stdout.isatty)


def _show_version(*, value: bool) -> None:
    if value:
        sys.stdout.write(f"orphangc {__version__}\n")
        raise typer.Exit


@app.callback()
def common(
    *,
    verbose: Annotated[bool, typer.Option("--verbose", help="Log single steps too.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show version.")
    ] = False,
) -> None:
    """Set up what all commands share."""
    del version
    configure_logs(is_verbose=verbose)


@app.command(
    epilog="Example: orphangc plan s3://bucket/checkpoints --closed-world"
    " --flink-rest http://jobmanager:8081 --out plan-1"
)
def plan(  # noqa: PLR0913 - one parameter an option
    *,
    root: Annotated[
        str, typer.Argument(help="The storage root: holds the job directories.", metavar="ROOT")
    ],
    out: Annotated[Path | None, typer.Option(help="New folder for the plan.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report.")] = None,
    summary: Annotated[Path | None, typer.Option(help="Write a Markdown summary.")] = None,
    output: o.OutputOption = None,
    grace_period: o.GracePeriod = "72h",
    quarantine_period: o.QuarantinePeriod = "24h",
    checkpoint_id_margin: o.CheckpointIdMargin = 1,
    clock_skew: o.ClockSkew = "15m",
    quiet_period: o.QuietPeriod = "7d",
    allow_short_grace_period: o.AllowShortGracePeriod = False,
    scope: o.ScopeOption = None,
    registry: o.Registry = None,
    registry_wait: o.RegistryWait = "5m",
    extra_roots: o.ExtraRoots = None,
    closed_world: o.ClosedWorld = False,
    ended_job: o.EndedJob = None,
    owner: o.Owner = None,
    flink_rest: o.FlinkRestOption = None,
    kubernetes_ha: o.KubernetesHaOption = None,
    zookeeper_ha: o.ZooKeeperHaOption = None,
    alias: o.AliasOption = None,
    pin: o.Pin = None,
    engine: o.EngineOption = o.Engine.AUTO,
    spark_threshold: o.SparkThreshold = 10_000_000,
    work: o.Work = None,
    state: o.State = None,
    max_delete_share: o.MaxDeleteShare = 0.5,
    max_deletes: o.MaxDeletes = None,
    delete_rate: o.DeleteRate = 3200,
    inventory: o.Inventory = None,
    inventory_max_age: o.InventoryMaxAge = "72h",
    noncurrent_versions: o.NoncurrentVersions = False,
    unsafe_acknowledge_root: o.AcknowledgeRoot = None,
) -> None:
    """List, mark and decide: one dry pass that deletes nothing and writes nothing under ROOT."""
    values = dict(locals())
    for name in ("out", "report", "summary", "output", "engine", "spark_threshold", "work"):
        del values[name]
    del spark_threshold  # nobody knows the number of objects before they are listed
    choice = o.engine_choice(engine, work)
    settings = o.settings_from(values)
    made, breakdown = planning.make_plan(
        settings, out=out, report=report, summary=summary, engine=choice
    )
    if _is_json(output):
        _print_json(made.model_dump(mode="json"))
    else:
        _print(tables.plan_tables(made, breakdown))
    if made.are_all_refused:
        raise typer.Exit(ExitCode.REFUSED)


@app.command(epilog="Example: orphangc sweep plan-1 --delete")
def sweep(
    *,
    path: o.PlanFolder,
    delete: Annotated[
        bool, typer.Option("--delete", help="Delete what is due; without it nothing is deleted.")
    ] = False,
    flink_rest: o.FlinkRestOption = None,
    delete_rate: Annotated[
        int | None,
        typer.Option(help="Most keys a second, instead of what the plan says."),
    ] = None,
    unsafe_clear_halt: Annotated[
        bool,
        typer.Option(
            "--unsafe-clear-halt", help="Go on after a halt whose cause a person has found."
        ),
    ] = False,
    engine: o.EngineOption = o.Engine.AUTO,
    work: o.Work = None,
    output: o.OutputOption = None,
) -> None:
    """Carry out a saved plan: mark again, then lay tombstones, and delete if told to."""
    made, result = sweeping.sweep_plan(
        path,
        is_deleting=delete,
        flink_rest=tuple(flink_rest or ()),
        delete_rate=delete_rate,
        clears_halt=unsafe_clear_halt,
        engine=o.engine_choice(engine, work),
    )
    outcome = {
        "plan_id": made.plan_id,
        "root": made.root,
        "counts": result.counts(),
        "refused": result.refused,
        "stopped": result.stopped,
        "exit_code": int(result.exit_code),
    }
    if _is_json(output):
        _print_json(outcome)
    else:
        _print(tables.outcome_tables(outcome))
    if result.exit_code is not ExitCode.DONE:
        raise typer.Exit(result.exit_code)


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
    if _is_json(output):
        _print_json([record.model_dump(mode="json") for record in records])
    else:
        _print(commanding.record_tables(records))
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
        _print_json([record.model_dump(mode="json") for record in kept])
    else:
        _print_json(commanding.known_records(config, only or ()))


@config_commands.command("schema", epilog="Example: orphangc config schema > orphangc.schema.json")
def config_schema() -> None:
    """Print the JSON schema of the configuration file."""
    _print_json(loading.configuration_schema())


@config_commands.command("show", epilog="Example: orphangc config show --config orphangc.yaml")
def config_show(*, config: o.ConfigFile) -> None:
    """Print the configuration that holds, environment included, without credentials."""
    _print_json(loading.load_configuration(config).model_dump(mode="json"))


@app.command(epilog="Example: orphangc explain KEY --plan plan-1")
def explain(  # noqa: PLR0913 - one parameter an option
    *,
    key: Annotated[
        str, typer.Argument(help="Key in the storage root, or its full URI.", metavar="KEY")
    ],
    plan: Annotated[Path | None, typer.Option(help="Folder of a saved plan.")] = None,
    root: Annotated[str | None, typer.Option(help="Storage root, where there is no plan.")] = None,
    ended_job: o.EndedJob = None,
    flink_rest: o.FlinkRestOption = None,
    extra_roots: o.ExtraRoots = None,
    alias: o.AliasOption = None,
    state: o.State = None,
    output: o.OutputOption = None,
) -> None:
    """Say why an object has its verdict: its scheme, every bound, every root that names it."""
    values = {
        "ended_job": ended_job,
        "flink_rest": flink_rest,
        "extra_roots": extra_roots,
        "alias": alias,
        "state": state,
    }
    document = explaining.explain_key(key, plan_folder=plan, root=root, values=values)
    if _is_json(output):
        _print_json(document)
    else:
        _print(explaining.explanation_tables(document))


@app.command(epilog="Example: orphangc inspect s3://bucket/checkpoints/JOB/chk-7 --output jsonl")
def inspect(
    *,
    checkpoints: Annotated[
        list[str], typer.Argument(help="Folders of checkpoints or savepoints, or _metadata files.")
    ],
    output: Annotated[
        o.InspectOutput | None,
        typer.Option(help="table (default on a terminal), json, or jsonl: a document a line."),
    ] = None,
) -> None:
    """Show what checkpoints and savepoints hold: operators, states, files."""
    documents = [inspecting.inspect_checkpoint(each) for each in checkpoints]
    chosen = output or (o.InspectOutput.TABLE if sys.stdout.isatty() else o.InspectOutput.JSON)
    match chosen:
        case o.InspectOutput.JSONL:
            sys.stdout.writelines(json.dumps(each) + "\n" for each in documents)
        case o.InspectOutput.JSON:
            _print_json(documents if len(documents) > 1 else documents[0])
        case o.InspectOutput.TABLE:
            _print([t for each in documents for t in inspecting.checkpoint_tables(each)])
    failed = [each for each in documents if "error" in each]
    for each in failed:
        complain(f"{each['directory']}: {each['error']}")
    if failed:
        raise typer.Exit(ExitCode(max(each["exit_code"] for each in failed)))


@registry.command("export", epilog="Example: orphangc registry export ROOT --job ID --out FILE")
def registry_export(
    *,
    root: Annotated[str, typer.Argument(help="The storage root.", metavar="ROOT")],
    job: Annotated[str, typer.Option(help="Job id.")],
    out: Annotated[Path, typer.Option(help="File to write; .gz compresses it.")],
    flink_rest: Annotated[str | None, typer.Option(help="Flink REST endpoint to ask too.")] = None,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Write a registry snapshot derived from roots and, if asked, from the running job."""
    values = {"root": root, "alias": alias}
    _show_snapshot(
        exporting.export_snapshot(values, job=job, out=out, flink_rest=flink_rest), output
    )


def _show_snapshot(document: dict[str, Any], output: o.Output | None) -> None:
    if _is_json(output):
        _print_json(document)
    else:
        _print(exporting.snapshot_tables(document))


@registry.command("show", epilog="Example: orphangc registry show snapshot.jsonl")
def registry_show(
    *,
    file: Annotated[str, typer.Argument(help="A registry snapshot.")],
    output: o.OutputOption = None,
) -> None:
    """Read a registry snapshot, check it, and say what it holds."""
    _show_snapshot(exporting.show_snapshot(file), output)


@app.command(epilog="Example: orphangc undelete plan-1")
def undelete(
    *,
    run: Annotated[Path, typer.Argument(help="Folder of the plan that was swept.", metavar="RUN")],
    output: o.OutputOption = None,
) -> None:
    """Bring back what a run deleted, on a versioned bucket."""
    document = undeleting.undelete_run(run)
    if _is_json(output):
        _print_json(document)
    else:
        _print([f"{name}: {count}" for name, count in document["counts"].items()])
    if document["failed"]:
        raise typer.Exit(ExitCode.SOME_DELETES_FAILED)


@app.command(epilog="Example: orphangc doctor --config orphangc.yaml")
def doctor(
    *,
    config: o.ConfigFile,
    output: o.OutputOption = None,
) -> None:
    """Check settings, permissions, clocks and Flink's REST API before anything runs."""
    findings = diagnosing.diagnose(config)
    if _is_json(output):
        _print_json(findings)
    else:
        _print(diagnosing.finding_tables(findings))
    worst = diagnosing.exit_code(findings)
    if worst is not ExitCode.DONE:
        raise typer.Exit(worst)


@app.command(epilog="Example: orphangc demo --keep demo-1")
def demo(
    *,
    keep: Annotated[
        Path | None, typer.Option(help="Make the storage here and leave it there.")
    ] = None,
) -> None:
    """Show the whole way on a small storage of real checkpoints: no network, no Java."""
    demonstrating.demonstrate(Console(width=100), keep)


def main() -> NoReturn:
    """Run the command line and exit with its code; no error of ours shows a traceback."""
    run_to_exit(app)
