"""The commands about jobs that are over: lineage, expire."""

from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, show
from orphangc.app.cli.application import app
from orphangc.app.console import options as o
from orphangc.app.console.exit import print_steps
from orphangc.app.console.options import ASKED, POLICY, SEARCHED, Values, gathered
from orphangc.app.console.text import LIST_PRICE
from orphangc.errors import ExitCode

_Report = Annotated[
    Path | None,
    typer.Option(help="Write an HTML report, with a picture of each lineage, to this file."),
]
_Price = Annotated[float, typer.Option(help="Price of a GiB a month in USD.", min=0)]


@app.command(
    epilog="Example: orphangc lineage s3://bucket/checkpoints --kubernetes-ha flink"
    " --flink-rest http://jobmanager:8081"
)
@gathered("settings", *SEARCHED, "ended_job", "owner", "registry", *ASKED, "state")
def lineage(
    *,
    root: o.Root,
    settings: Values,
    report: _Report = None,
    price: _Price = LIST_PRICE,
    output: o.OutputOption = None,
) -> None:
    """Show which job continued which, and the bytes that only each of them holds."""
    from orphangc.app.config.validate import settings_from
    from orphangc.app.render.retention.lineage_tables import lineage_tables
    from orphangc.app.runner.lineages import lineages_now

    checked = settings_from({"root": root, **settings})
    found = lineages_now(checked, report=report, price=price)
    show(output, found.model_dump(mode="json"), lambda: [*lineage_tables(found)])


@app.command(
    epilog="Example: orphangc expire s3://bucket/checkpoints --closed-world"
    " --flink-rest http://jobmanager:8081 --keep-last 1"
)
@gathered("policy", *POLICY)
@gathered(
    "settings",
    *("grace_period", "quarantine_period", "clock_skew", "quiet_period", "allow_short_margins"),
    *(*SEARCHED, "ended_job", "owner", "registry", "registry_wait", *ASKED, "state", "max_deletes"),
)
def expire(
    *,
    root: o.Root,
    policy: Values,
    out: Annotated[Path | None, typer.Option(help="New folder for a plan, for sweep.")] = None,
    report: _Report = None,
    price: _Price = LIST_PRICE,
    settings: Values,
    output: o.OutputOption = None,
) -> None:
    """Report what no living job needs, and which checkpoints a retention policy would let go.

    ``sweep`` carries out the plan in ``--out``: ``_metadata`` alone goes into quarantine. A later
    plan ends that; then ``plan`` finds the files. Without a policy nothing goes; under one, also
    what Flink itself was to delete.
    """
    from orphangc.app.config.validate import policy_from, settings_from
    from orphangc.app.render.next_steps import after_expire
    from orphangc.app.render.retention.lineage_tables import expiry_tables
    from orphangc.app.runner.lineages import make_expiry

    stated, checked = policy_from(policy), settings_from({"root": root, **settings})
    plan = make_expiry(checked, stated, out, report=report, price=price)
    show(output, plan.model_dump(mode="json"), lambda: [*expiry_tables(plan, price)])
    if not is_json(output):
        print_steps(after_expire(plan, out))
    if plan.are_all_refused:
        raise typer.Exit(ExitCode.REFUSED)
