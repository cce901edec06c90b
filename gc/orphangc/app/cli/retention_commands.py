"""The commands about jobs that are over: lineage, expire."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, show
from orphangc.app.cli.application import app
from orphangc.app.cli.output import print_steps
from orphangc.app.console import options as o
from orphangc.app.render.retention.unneeded_text import LIST_PRICE
from orphangc.errors import ExitCode

_ROOT_HELP = "The storage root: holds the job directories."
_Report = Annotated[
    Path | None,
    typer.Option(help="Write an HTML report, with a picture of each lineage, to this file."),
]
_Price = Annotated[float, typer.Option(help="Price of a GiB a month in USD.", min=0)]
_POLICY = (
    "keep_last",
    "keep_within",
    "keep_daily",
    "keep_weekly",
    "keep_monthly",
    "ended_for",
    "dead",
    "continued",
    "savepoints",
)


@app.command(
    epilog="Example: orphangc lineage s3://bucket/checkpoints --kubernetes-ha flink"
    " --flink-rest http://jobmanager:8081"
)
def lineage(  # noqa: PLR0913 - one parameter an option
    *,
    root: Annotated[str, typer.Argument(help=_ROOT_HELP, metavar="ROOT")],
    extra_roots: o.ExtraRoots = None,
    empty_roots: o.EmptyRoots = None,
    search: o.Search = o.default_of("search"),
    search_except: o.SearchExcept = None,
    closed_world: o.ClosedWorld = False,
    ended_job: o.EndedJob = None,
    owner: o.Owner = None,
    registry: o.Registry = None,
    flink_rest: o.FlinkRestOption = None,
    accept_flink_version: o.AcceptFlinkVersion = None,
    kubernetes_ha: o.KubernetesHaOption = None,
    zookeeper_ha: o.ZooKeeperHaOption = None,
    alias: o.AliasOption = None,
    pin: o.Pin = None,
    state: o.State = None,
    report: _Report = None,
    price: _Price = LIST_PRICE,
    output: o.OutputOption = None,
) -> None:
    """Show which job continued which, and the bytes that only each of them holds."""
    values = dict(locals())
    from orphangc.app.commands.retention.lineage_tables import lineage_tables
    from orphangc.app.config.validate import settings_from
    from orphangc.app.runner.lineage_cycle import lineages_now

    for name in ("output", "report", "price"):
        del values[name]
    found = lineages_now(settings_from(values), report=report, price=price)
    show(output, found.model_dump(mode="json"), lambda: [*lineage_tables(found)])


@app.command(
    epilog="Example: orphangc expire s3://bucket/checkpoints --closed-world"
    " --flink-rest http://jobmanager:8081 --keep-last 1"
)
def expire(  # noqa: PLR0913 - one parameter an option
    *,
    root: Annotated[str, typer.Argument(help=_ROOT_HELP, metavar="ROOT")],
    keep_last: Annotated[
        int | None, typer.Option(help="The newest checkpoints of a lineage that stay: 1 or more.")
    ] = None,
    keep_within: Annotated[
        str | None, typer.Option(help="Age, counted from the newest one, up to which all stay.")
    ] = None,
    keep_daily: Annotated[
        int | None, typer.Option(help="Days, in UTC, of which the newest savepoint stays.")
    ] = None,
    keep_weekly: Annotated[
        int | None,
        typer.Option(help="Weeks, from Monday in UTC, of which the newest savepoint stays."),
    ] = None,
    keep_monthly: Annotated[
        int | None, typer.Option(help="Months, in UTC, of which the newest savepoint stays.")
    ] = None,
    ended_for: Annotated[
        str | None,
        typer.Option(help="Time since a job's last sign of life; 30d if a policy is given."),
    ] = None,
    dead: Annotated[
        list[str] | None,
        typer.Option(
            "--dead",
            help="Lineage that is given up, by a resource or a job id of it; of one that goes on,"
            " the branch of that job: even the last checkpoint may go; repeatable.",
        ),
    ] = None,
    continued: Annotated[
        list[str] | None,
        typer.Option(
            "--continued",
            metavar="NEWER=OLDER@ID",
            help="The newer job was restored from this checkpoint of the older one, or NEWER=URI;"
            " NEWER=OLDER joins both, and lets nothing go; repeatable.",
        ),
    ] = None,
    savepoints: Annotated[
        list[str] | None,
        typer.Option(
            "--savepoints",
            help="Extra root, or folder in one, whose self-contained savepoints may go with all"
            " of their files; repeatable.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="New folder for a plan, for sweep.")] = None,
    report: _Report = None,
    price: _Price = LIST_PRICE,
    grace_period: o.GracePeriod = o.default_of("grace_period"),
    quarantine_period: o.QuarantinePeriod = o.default_of("quarantine_period"),
    clock_skew: o.ClockSkew = o.default_of("clock_skew"),
    quiet_period: o.QuietPeriod = o.default_of("quiet_period"),
    allow_short_margins: o.AllowShortMargins = False,
    extra_roots: o.ExtraRoots = None,
    empty_roots: o.EmptyRoots = None,
    search: o.Search = o.default_of("search"),
    search_except: o.SearchExcept = None,
    closed_world: o.ClosedWorld = False,
    ended_job: o.EndedJob = None,
    owner: o.Owner = None,
    registry: o.Registry = None,
    registry_wait: o.RegistryWait = o.default_of("registry_wait"),
    flink_rest: o.FlinkRestOption = None,
    accept_flink_version: o.AcceptFlinkVersion = None,
    kubernetes_ha: o.KubernetesHaOption = None,
    zookeeper_ha: o.ZooKeeperHaOption = None,
    alias: o.AliasOption = None,
    pin: o.Pin = None,
    state: o.State = None,
    max_deletes: o.MaxDeletes = None,
    output: o.OutputOption = None,
) -> None:
    """Report what no living job needs, and which checkpoints a retention policy would let go.

    ``sweep`` carries out the plan in ``--out``: ``_metadata`` alone goes into quarantine. A later
    plan ends that; then ``plan`` finds the files. Without a policy nothing goes; under one, also
    what Flink itself was to delete.
    """
    values = dict(locals())
    from orphangc.app.commands.retention.lineage_tables import expiry_tables
    from orphangc.app.config.validate import policy_from, settings_from
    from orphangc.app.render.sentences.next_steps import after_expire
    from orphangc.app.runner.expiry_runs import make_expiry

    policy = policy_from({name: values.pop(name) for name in _POLICY})
    for name in ("out", "report", "price", "output"):
        del values[name]
    plan = make_expiry(settings_from(values), policy, out, report=report, price=price)
    show(output, plan.model_dump(mode="json"), lambda: [*expiry_tables(plan, price)])
    if not is_json(output):
        print_steps(after_expire(plan, out))
    if plan.are_all_refused:
        raise typer.Exit(ExitCode.REFUSED)
