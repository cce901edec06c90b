"""The commands that prepare a collector: discover, init, doctor, policy, demo."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from flinkstate.tables.printing import is_json, show
from orphangc.app.cli.application import app
from orphangc.app.console import options as o
from orphangc.app.console.exit import end, print_steps
from orphangc.app.console.options import Values, gathered
from orphangc.core.model.shown import RunMode
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


@app.command(
    epilog="Example: orphangc init --root s3://bucket/checkpoints --state s3://ops/orphangc"
    " --flink-rest http://jobmanager:8081"
)
@gathered(
    "settings",
    *("state", "flink_rest", "kubernetes_ha", "extra_roots", "ended_job", "closed_world"),
)
def init(
    *,
    root: o.PolicyRoot = None,
    settings: Values,
    mode: Annotated[RunMode, typer.Option(help="Highest mode of runs.")] = RunMode.REPORT,
    out: Annotated[Path, typer.Option(help="File to write.")] = Path("orphangc.yaml"),
    replace: Annotated[bool, typer.Option("--replace", help="Replace a file that exists.")] = False,
    yes: Annotated[
        bool,
        typer.Option(
            "--yes", help="Take every proposal. It answers no statement: those have options."
        ),
    ] = False,
    output: o.OutputOption = None,
) -> None:
    """Ask what a configuration needs, try it, write it with comments, and examine it.

    Where no person can answer, options say everything.
    """
    from orphangc.app.commands.examine.make_configuration import Wishes, make_configuration
    from orphangc.app.commands.operate.doctor import diagnose, exit_code, finding_tables

    wishes = Wishes(
        root=root,
        state=settings.pop("state"),
        closed_world=settings.pop("closed_world"),
        several={name: list(values or ()) for name, values in settings.items()},
        mode=mode,
        is_interactive=sys.stdin.isatty(),
        takes_proposals=yes,
    )
    make_configuration(wishes, out, replaces=replace)
    findings = diagnose(out)
    show(output, findings, lambda: finding_tables(findings))
    if not is_json(output):
        is_usable = exit_code(findings) is ExitCode.DONE
        said = "the first run only reports" if is_usable else "mend what is bad, and examine it"
        command = shlex.join(["orphangc", "run" if is_usable else "doctor", "--config", str(out)])
        print_steps([f"Next: {said}", f"  {command}"])
    end(exit_code(findings))


@app.command(
    epilog="Examples: orphangc doctor --config orphangc.yaml;"
    " orphangc doctor --prove s3://bucket/somewhere --state s3://bucket/orphangc-state"
)
def doctor(
    *,
    config: o.DoctorConfig = None,
    prove: o.Prove = None,
    state: o.ProofState = None,
    output: o.OutputOption = None,
) -> None:
    """Check settings, permissions, clocks and Flink's REST API before anything runs."""
    from orphangc.app.commands.examine.prove_storage import prove as proven
    from orphangc.app.commands.operate.doctor import diagnose, exit_code, finding_tables
    from orphangc.errors import SettingsError

    if prove is not None and config is None:
        findings = proven(prove, state)
    elif config is not None and prove is None and state is None:
        findings = diagnose(config)
    else:
        raise SettingsError("doctor needs --config, or --prove with or without --state")
    show(output, findings, lambda: finding_tables(findings))
    end(exit_code(findings))


@app.command(
    epilog="Example: orphangc policy --provider aws --root s3://bucket/checkpoints"
    " --state s3://bucket/orphangc-state --output json > policy.json"
)
@gathered(
    "settings",
    *("scope", "state", "extra_roots", "search", "registry", "owner", "inventory"),
    *("noncurrent_versions", "abort_uploads"),
    search=o.SearchOrNone,
    may_examine=o.MayExamine,
)
@gathered("rights", may_undelete=o.MayUndelete, may_expire=o.MayExpire)
def policy(
    *,
    provider: o.ProviderOption,
    root: o.PolicyRoot = None,
    config: o.PolicyConfig = None,
    mode: o.PolicyMode = None,
    rights: Values,
    settings: Values,
    partition: o.PartitionOption = o.Partition.AWS,
    output: o.OutputOption = None,
) -> None:
    """Print the least permissions that runs need, as the provider's own policy document."""
    from orphangc.app.commands.operate.policy import make_policy, policy_tables

    made = make_policy(
        provider,
        rights=rights | {"may_examine": settings.pop("may_examine")},
        values={"root": root, **settings},
        config=config,
        mode=mode,
        partition=partition,
    )
    show(output, made.document, lambda: policy_tables(made))
    if is_json(output):
        sys.stderr.writelines(f"note: {note}\n" for note in made.notes)


@app.command(epilog="Example: orphangc demo --keep demo-1")
def demo(
    *,
    keep: Annotated[
        Path | None, typer.Option(help="Folder in which the demo's storage is made and kept.")
    ] = None,
) -> None:
    """Plan, quarantine and sweep a small storage of real checkpoints: no network, no Java."""
    from orphangc.app.commands.operate.demo import demonstrate

    demonstrate(keep)
