"""The command line: parses, calls, prints, exits. Data on stdout, logs and progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
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
        claiming,
        commanding,
        declarations_file,
        declaring,
        demonstrating,
        diagnosing,
        explaining,
        exporting,
        extracting,
        inspecting,
        loading,
        planning,
        policing,
        self_sustaining,
        serving,
        sweeping,
        undeleting,
        using,
    )
    from orphangc.shell.render import claims, tables
else:  # each command loads what it needs: the daemon has no use for Arrow, nor a plan for a server
    claiming = lazily("orphangc.shell.claiming")
    commanding = lazily("orphangc.shell.commanding")
    declarations_file = lazily("orphangc.shell.declarations_file")
    declaring = lazily("orphangc.shell.declaring")
    demonstrating = lazily("orphangc.shell.demonstrating")
    diagnosing = lazily("orphangc.shell.diagnosing")
    explaining = lazily("orphangc.shell.explaining")
    exporting = lazily("orphangc.shell.exporting")
    extracting = lazily("orphangc.shell.extracting")
    inspecting = lazily("orphangc.shell.inspecting")
    loading = lazily("orphangc.shell.loading")
    planning = lazily("orphangc.shell.planning")
    policing = lazily("orphangc.shell.policing")
    self_sustaining = lazily("orphangc.shell.self_sustaining")
    serving = lazily("orphangc.shell.serving")
    sweeping = lazily("orphangc.shell.sweeping")
    undeleting = lazily("orphangc.shell.undeleting")
    using = lazily("orphangc.shell.using")
    claims = lazily("orphangc.shell.render.claims")
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


def _show(
    output: o.Output | None, document: Any, shown: Callable[[], list[RenderableType]]
) -> None:
    """Print a document as JSON or, where a person looks, what is shown of it."""
    if _is_json(output):
        _print_json(document)
    else:
        _print(shown())


def _end(code: ExitCode, why: str | None = None) -> None:
    """End with a code other than "done", after saying why."""
    if code is ExitCode.DONE:
        return
    if why is not None:
        complain(why)
    raise typer.Exit(code)


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
    _show(output, outcome, lambda: tables.outcome_tables(outcome))
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
def config_schema(
    *,
    of: Annotated[o.SchemaOf, typer.Option(help="Of which file.")] = o.SchemaOf.CONFIGURATION,
) -> None:
    """Print the JSON schema of the configuration file, or of the declarations file."""
    if of is o.SchemaOf.DECLARATIONS:
        _print_json(declarations_file.declarations_schema())
    else:
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
    _show(output, document, lambda: explaining.explanation_tables(document))


@app.command(
    epilog="Example: orphangc inspect s3://bucket/checkpoints/JOB/chk-8"
    " --against s3://bucket/checkpoints/JOB/chk-7 --html chk-8.html"
)
def inspect(
    *,
    checkpoints: Annotated[
        list[str], typer.Argument(help="Folders of checkpoints or savepoints, or _metadata files.")
    ],
    output: Annotated[
        o.InspectOutput | None,
        typer.Option(help="table (default on a terminal), tree, json, jsonl: a document a line."),
    ] = None,
    tree: Annotated[bool, typer.Option("--tree", help="Short for --output tree.")] = False,
    html: Annotated[Path | None, typer.Option(help="Write a page with a picture.")] = None,
    against: o.Against = None,
    rescale_to: o.RescaleTo = None,
    metadata_only: o.MetadataOnly = False,
    alias: o.AliasOption = None,
) -> None:
    """Show what checkpoints and savepoints hold: operators, states, files."""
    chosen = o.InspectOutput.TREE if tree else output
    chosen = chosen or (o.InspectOutput.TABLE if sys.stdout.isatty() else o.InspectOutput.JSON)
    questions = inspecting.Questions(
        aliases=alias or (),
        reads_state=not metadata_only,
        against=against,
        rescale_to=rescale_to,
    )
    failed = inspecting.show_checkpoints(
        inspecting.inspect_checkpoints(checkpoints, questions),
        chosen,
        html=html,
        show=_print,
    )
    for document in failed:
        complain(f"{document['directory']}: {document['error']}")
    if failed:
        raise typer.Exit(ExitCode(max(document["exit_code"] for document in failed)))


@app.command(
    epilog="Example: orphangc extract s3://bucket/checkpoints/JOB/chk-7"
    " --operator my-source --state SourceReaderState --out state-1"
)
def extract(
    *,
    checkpoint: o.OneCheckpoint,
    operator: Annotated[str, typer.Option(help="Its id, uid or name.")],
    state: Annotated[str, typer.Option(help="Name of the operator state.")],
    out: Annotated[Path, typer.Option(help="New folder for the bytes.")],
    subtask: Annotated[int | None, typer.Option(min=0, help="This subtask's alone.")] = None,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Write the raw bytes of one operator state, a file each partition, and an index of them."""
    index = extracting.extract_state(
        checkpoint, operator=operator, state=state, subtask=subtask, out=out, alias=alias or ()
    )
    _show(output, index, lambda: extracting.extracted_tables(index))


@app.command(
    epilog="Example: orphangc declare s3://bucket/savepoints/savepoint-1 --out declarations.yaml"
)
def declare(
    *,
    checkpoint: o.OneCheckpoint,
    out: Annotated[Path, typer.Option(help="New file to write.")],
    alias: o.AliasOption = None,
) -> None:
    """Write the state declarations that a checkpoint implies; say what it does not tell."""
    for remark in declaring.declare_checkpoint(checkpoint, out=out, alias=alias or ()):
        complain(f"not declared: {remark}")


@app.command(
    epilog="Example: orphangc unclaimed s3://bucket/savepoints/savepoint-1"
    " --declarations declarations.yaml --prune-to s3://bucket/savepoints/pruned-1"
)
def unclaimed(
    *,
    checkpoint: o.OneCheckpoint,
    declarations: Annotated[Path, typer.Option(help="What the job's next version declares.")],
    ignore_unclaimed_state: Annotated[
        bool,
        typer.Option("--ignore-unclaimed-state", help="Report, and exit 0 all the same."),
    ] = False,
    prune_to: Annotated[
        str | None,
        typer.Option(help="New folder: write the checkpoint there without it.", metavar="DIR"),
    ] = None,
    alias: o.AliasOption = None,
    output: o.OutputOption = None,
) -> None:
    """Find state that nothing declares any more, before a deployment.

    Exit 5 if there is any, 4 if that cannot be known because names could not be read.
    """
    found = claiming.find_unclaimed(
        checkpoint, declarations=declarations, prune_to=prune_to, alias=alias or ()
    )
    if _is_json(output):
        _print_json(claims.claims_document(found))
    else:
        _print(claims.claims_tables(found))
    for warning in claims.claims_warnings(found):
        complain(warning)
    if found.exit_code is not ExitCode.DONE and not ignore_unclaimed_state:
        raise typer.Exit(found.exit_code)


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
    _show(output, document, lambda: exporting.snapshot_tables(document))


@registry.command("show", epilog="Example: orphangc registry show snapshot.jsonl")
def registry_show(
    *,
    file: Annotated[str, typer.Argument(help="A registry snapshot.")],
    output: o.OutputOption = None,
) -> None:
    """Read a registry snapshot, check it, and say what it holds."""
    _show_snapshot(exporting.show_snapshot(file), output)


@app.command(
    "self-sustained",
    epilog="Example: orphangc self-sustained s3://bucket/checkpoints --job ID"
    " --snapshot s3://bucket/savepoints/savepoint-1 --state s3://bucket/orphangc",
)
def self_sustained(  # noqa: PLR0913 - one parameter an option
    *,
    root: Annotated[
        str, typer.Argument(help="The storage root: holds the job's directory.", metavar="ROOT")
    ],
    job: Annotated[str, typer.Option(help="Job id.")],
    snapshot: Annotated[
        str | None,
        typer.Option(
            help="Checkpoint or savepoint that it was restored from; without it all that is not"
            " the job's own.",
            metavar="PATH",
        ),
    ] = None,
    wait: Annotated[
        str | None, typer.Option(help="Look a second time so much later, e.g. 10m.")
    ] = None,
    registry: o.Registry = None,
    registry_wait: o.RegistryWait = "5m",
    extra_roots: o.ExtraRoots = None,
    ended_job: o.EndedJob = None,
    owner: o.Owner = None,
    flink_rest: o.FlinkRestOption = None,
    kubernetes_ha: o.KubernetesHaOption = None,
    zookeeper_ha: o.ZooKeeperHaOption = None,
    alias: o.AliasOption = None,
    state: o.State = None,
    unsafe_acknowledge_root: o.AcknowledgeRoot = None,
    output: o.OutputOption = None,
) -> None:
    """Say whether a job still needs files of the snapshot that it was restored from.

    One look is shown as ``seen``, with exit code 0 where it can tell. A yes becomes
    ``state_self_sustained`` only after a second look with a newer checkpoint between (``--state``
    or ``--wait``), or at once if the job is over; until then it is null.
    """
    values = dict(locals())
    for name in ("job", "snapshot", "wait", "output"):
        del values[name]
    document = self_sustaining.self_sustained(values, job=job, snapshot=snapshot, wait=wait)
    _show(output, document, lambda: self_sustaining.look_tables(document))
    _end(self_sustaining.exit_code(document), document["why"])


@app.command(
    "users-of",
    epilog="Example: orphangc users-of s3://bucket/savepoints/savepoint-1 s3://bucket/checkpoints"
    " --closed-world",
)
def users_of(  # noqa: PLR0913 - one parameter an option
    *,
    snapshot: Annotated[str, typer.Argument(help="A checkpoint or savepoint.", metavar="SNAPSHOT")],
    roots: Annotated[
        list[str] | None,
        typer.Argument(
            help="Storage roots whose checkpoints may need it; without any, the one that holds"
            " the snapshot's own job.",
            metavar="[ROOT]...",
        ),
    ] = None,
    extra_roots: o.ExtraRoots = None,
    closed_world: o.ClosedWorld = False,
    ended_job: o.EndedJob = None,
    flink_rest: o.FlinkRestOption = None,
    alias: o.AliasOption = None,
    unsafe_acknowledge_root: o.AcknowledgeRoot = None,
    output: o.OutputOption = None,
) -> None:
    """List the jobs, and their checkpoints, that still need files of a snapshot.

    ``confirmed`` is false as long as a job that was seen is not over: a pending checkpoint may
    need it.
    """
    values = dict(locals())
    for name in ("snapshot", "roots", "output"):
        del values[name]
    document = using.find_users(snapshot, roots or (), values)
    _show(output, document, lambda: using.user_tables(document))
    _end(using.exit_code(document), document["statement"])


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
    _show(output, findings, lambda: diagnosing.finding_tables(findings))
    _end(diagnosing.exit_code(findings))


@app.command(
    epilog="Example: orphangc policy --provider aws --root s3://bucket/checkpoints"
    " --state s3://bucket/orphangc-state --output json > policy.json"
)
def policy(  # noqa: PLR0913 - one parameter an option
    *,
    provider: o.ProviderOption,
    root: o.PolicyRoot = None,
    config: o.PolicyConfig = None,
    mode: o.PolicyMode = None,
    undelete: o.MayUndelete = False,
    state: o.State = None,
    extra_roots: o.ExtraRoots = None,
    registry: o.Registry = None,
    owner: o.Owner = None,
    inventory: o.Inventory = None,
    noncurrent_versions: o.NoncurrentVersions = False,
    partition: o.PartitionOption = o.Partition.AWS,
    output: o.OutputOption = None,
) -> None:
    """Print the least that runs must be allowed, as the provider's own policy document."""
    values = dict(locals())
    for name in ("provider", "config", "mode", "undelete", "partition", "output"):
        del values[name]
    made = policing.make_policy(
        provider, values, config=config, mode=mode, may_undelete=undelete, partition=partition
    )
    _show(output, made.document, lambda: policing.policy_tables(made))
    sys.stderr.writelines(f"note: {note}\n" for note in made.notes)


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
