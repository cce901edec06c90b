"""The commands that prepare a collector: doctor, policy, demo."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from orphangc.app.cli.application import app
from orphangc.app.cli.output import end, show
from orphangc.app.console import options as o


@app.command(epilog="Example: orphangc doctor --config orphangc.yaml")
def doctor(
    *,
    config: o.ConfigFile,
    output: o.OutputOption = None,
) -> None:
    """Check settings, permissions, clocks and Flink's REST API before anything runs."""
    from orphangc.app.commands.operate.doctor import diagnose, exit_code, finding_tables

    findings = diagnose(config)
    show(output, findings, lambda: finding_tables(findings))
    end(exit_code(findings))


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
    expire: o.MayExpire = False,
    scope: o.ScopeOption = None,
    state: o.State = None,
    extra_roots: o.ExtraRoots = None,
    registry: o.Registry = None,
    owner: o.Owner = None,
    inventory: o.Inventory = None,
    noncurrent_versions: o.NoncurrentVersions = False,
    abort_uploads: o.AbortUploads = False,
    partition: o.PartitionOption = o.Partition.AWS,
    output: o.OutputOption = None,
) -> None:
    """Print the least permissions that runs need, as the provider's own policy document."""
    values = dict(locals())
    from orphangc.app.commands.operate.policy import make_policy, policy_tables
    from orphangc.core.documents.run_record import RunMode

    for name in ("provider", "config", "mode", "undelete", "expire", "partition", "output"):
        del values[name]
    highest = None if mode is None else RunMode(mode)
    made = make_policy(
        provider,
        values,
        config=config,
        mode=highest,
        may_undelete=undelete,
        may_expire=expire,
        partition=partition,
    )
    show(output, made.document, lambda: policy_tables(made))
    sys.stderr.writelines(f"note: {note}\n" for note in made.notes)


@app.command(epilog="Example: orphangc demo --keep demo-1")
def demo(
    *,
    keep: Annotated[
        Path | None, typer.Option(help="Folder in which the demo's storage is made and kept.")
    ] = None,
) -> None:
    """Plan, quarantine and sweep a small storage of real checkpoints: no network, no Java."""
    from rich.console import Console

    from orphangc.app.commands.operate.demo import demonstrate

    demonstrate(Console(width=100), keep)
