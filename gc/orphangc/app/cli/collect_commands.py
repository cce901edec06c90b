"""The commands that collect one storage root by hand: plan, sweep, explain, undelete."""

from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, print_json, print_tables, show
from orphangc.app.cli.application import app
from orphangc.app.console import options as o
from orphangc.app.console.exit import print_steps, saying
from orphangc.app.console.options import ALL, ENGINE, Values, engine_choice, gathered
from orphangc.app.console.verbosity import asked
from orphangc.errors import ExitCode


@app.command(
    epilog="Example: orphangc plan s3://bucket/checkpoints --closed-world"
    " --flink-rest http://jobmanager:8081 --out plan-1"
)
@gathered("settings", *ALL)
def plan(
    *,
    root: o.Root,
    out: Annotated[Path | None, typer.Option(help="New folder for the plan.")] = None,
    report: Annotated[Path | None, typer.Option(help="Write an HTML report to this file.")] = None,
    summary: Annotated[
        Path | None, typer.Option(help="Write a Markdown summary to this file.")
    ] = None,
    output: o.OutputOption = None,
    settings: Values,
) -> None:
    """List, mark and decide: one dry pass that deletes nothing and writes nothing under ROOT."""
    from orphangc.app.config.validate import settings_from
    from orphangc.app.runner.make_plan import PlanFiles, make_plan
    from orphangc.app.wiring.compose import due_at, start_of

    choice = engine_choice(**{name: settings.pop(name) for name in ENGINE})
    checked = settings_from({"root": root, **settings})
    with saying(lambda: _what_a_plan_left(out)):
        files = PlanFiles(out=out, report=report, summary=summary)
        planned = make_plan(start_of(checked), files, engine=choice)
    made = planned.plan
    if is_json(output):
        print_json(made.model_dump(mode="json"))
    else:
        from orphangc.app.render.next_steps import after_plan
        from orphangc.app.render.plan.plan_tables import plan_tables

        print_tables(plan_tables(made, planned.breakdown))
        print_steps(after_plan(made, out, due_at(checked)))
    if made.are_all_refused:
        raise typer.Exit(ExitCode.REFUSED)


def _what_a_plan_left(out: Path | None) -> str:
    kept = out is not None and any(out.glob("*"))
    again = f"; the same command goes on from what {out} holds of the listing" if kept else ""
    return f"nothing was planned and nothing was deleted{again}"


_Delete = Annotated[
    bool,
    typer.Option("--delete", help="Delete what is due. Without this option nothing is deleted."),
]
_DeleteRate = Annotated[
    int | None, typer.Option(help="Maximum number of keys deleted per second; replaces the plan's.")
]
_ClearHalt = Annotated[
    bool,
    typer.Option(
        "--unsafe-clear-halt", help="Continue after a halt whose cause a person has found."
    ),
]
_Relist = Annotated[
    bool,
    typer.Option(
        "--relist",
        help="List the storage root again. Without this option the listing of the plan serves,"
        " everything else is read afresh, and the sweep costs what it deletes.",
    ),
]
_AuditLog = Annotated[
    str | None,
    typer.Option(
        help="Write a JSON line for each object that was to be deleted: 'stderr', or a file to"
        " append to.",
        metavar="FILE",
    ),
]


@app.command(epilog="Example: orphangc sweep plan-1 --delete")
@gathered("settings", "flink_rest", delete_rate=_DeleteRate)
@gathered("engine", *ENGINE)
def sweep(
    *,
    path: o.PlanFolder,
    delete: _Delete = False,
    settings: Values,
    unsafe_clear_halt: _ClearHalt = False,
    relist: _Relist = False,
    engine: Values,
    audit_log: _AuditLog = None,
    output: o.OutputOption = None,
) -> None:
    """Read all evidence afresh, lay tombstones where the plan holds, and delete with --delete."""
    from orphangc.app.render.next_steps import after_signal, after_sweep
    from orphangc.app.render.plan.plan_tables import outcome_tables
    from orphangc.app.render.shown_names import JobNames
    from orphangc.app.runner.sweep_plan import sweep_plan
    from orphangc.app.wiring.clock import now
    from orphangc.app.wiring.compose import due_at
    from orphangc.collect.runs.result import SweepResult
    from orphangc.core.times.instants import shifted

    asked.audit_log = audit_log
    result = SweepResult()
    with saying(lambda: after_signal(result, path)):
        made = sweep_plan(
            path,
            result,
            is_deleting=delete,
            flink_rest=tuple(settings["flink_rest"] or ()),
            delete_rate=settings["delete_rate"],
            clears_halt=unsafe_clear_halt,
            relists=relist,
            engine=engine_choice(**engine),
        )
    outcome = result.document(made, is_deleting=delete)
    show(output, outcome, lambda: outcome_tables(outcome, JobNames.of(made.jobs)))
    if not is_json(output):
        until = shifted(now(), made.settings.margins.quarantine_period)
        due, can_undo = due_at(made.settings), result.is_undoable
        print_steps(after_sweep(made, outcome, path, due, until=until, is_undoable=can_undo))
    if result.exit_code is not ExitCode.DONE:
        raise typer.Exit(result.exit_code)


@app.command(epilog="Example: orphangc explain KEY --plan plan-1")
@gathered("settings", "ended_job", "flink_rest", "extra_roots", "alias", "state")
def explain(
    *,
    key: Annotated[
        str, typer.Argument(help="Key in the storage root, or its full URI.", metavar="KEY")
    ],
    plan: Annotated[Path | None, typer.Option(help="Folder of a saved plan.")] = None,
    root: Annotated[str | None, typer.Option(help="Storage root, if there is no plan.")] = None,
    config: Annotated[
        Path | None, typer.Option(help="Configuration file, which says all of the storage root.")
    ] = None,
    settings: Values,
    output: o.OutputOption = None,
) -> None:
    """Explain an object's verdict: its scheme, every bound, every checkpoint that names it."""
    from orphangc.app.commands.operate.explain import explain_key
    from orphangc.app.render.reason_groups import explanation_lines
    from orphangc.app.render.text_table import as_text

    document = explain_key(key, plan_folder=plan, root=root, config=config, values=settings)
    show(output, document, lambda: [*map(as_text, explanation_lines(document))])


@app.command(epilog="Example: orphangc undelete plan-1")
def undelete(
    *,
    run: Annotated[Path, typer.Argument(help="Folder of the swept plan.", metavar="RUN")],
    checkpoint: Annotated[
        list[str] | None,
        typer.Option(
            "--checkpoint",
            metavar="URI",
            help="Put back this checkpoint, whichever run expired it: any plan of its storage root"
            " will do; repeatable.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only count what can be restored.")
    ] = False,
    output: o.OutputOption = None,
) -> None:
    """Restore what a run deleted, on a versioned bucket, or checkpoints that it expired."""
    from orphangc.app.commands.operate.undelete import undelete_run, undeletion_lines

    document = undelete_run(run, checkpoint or (), is_dry=dry_run)
    show(output, document, lambda: undeletion_lines(document))
    if document["failed"]:
        raise typer.Exit(ExitCode.SOME_DELETES_FAILED)
