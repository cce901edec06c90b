"""Commands about one checkpoint that a program of any name has."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flinkstate.console import options as o
from flinkstate.console.exit import complain_as
from flinkstate.errors import ExitCode
from flinkstate.tables.printing import InspectOutput, is_json, print_json, print_tables, show

if TYPE_CHECKING:
    from flinkstate.commands.inspect_checkpoint import Inspected
    from flinkstate.files.host import Host

# ruff: noqa: PLC0415 - each command loads only what it needs

_PruneTo = Annotated[
    str | None,
    typer.Option(
        help="New folder for a copy of the checkpoint without the unclaimed state.", metavar="DIR"
    ),
]


@dataclass(frozen=True, slots=True)
class CheckpointCommands:
    """The commands of one program.

    Attributes:
        host: Returns how it opens places.
    """

    program: str
    host: Callable[[], Host]

    def add_to(self, app: typer.Typer) -> None:
        """Register the commands."""
        examples: dict[Callable[..., None], str] = {
            self.extract: "extract s3://bucket/checkpoints/JOB/chk-7"
            " --operator my-source --state SourceReaderState --out state-1",
            self.declare: "declare s3://bucket/savepoints/savepoint-1 --out declarations.yaml",
            self.unclaimed: "unclaimed s3://bucket/savepoints/savepoint-1"
            " --declarations declarations.yaml --prune-to s3://bucket/savepoints/pruned-1",
        }
        for command, example in examples.items():
            app.command(epilog=f"Example: {self.program} {example}")(command)

    def show_inspected(
        self,
        checkpoints: list[str],
        output: InspectOutput | None,
        *,
        write_page: Callable[[Sequence[Inspected]], object] | None = None,
        **questions: Any,
    ) -> None:
        """Print what checkpoints hold, and exit with the least code of what is wrong with them.

        Args:
            questions: Fields of ``Questions``.
        """
        from flinkstate.commands.inspect_checkpoint import (
            Questions,
            inspect_checkpoints,
            show_checkpoints,
        )

        default = InspectOutput.TABLE if sys.stdout.isatty() else InspectOutput.JSON
        inspected = inspect_checkpoints(checkpoints, Questions(**questions), self.host())
        problems = show_checkpoints(inspected, output or default, write_page=write_page)
        for _, line in problems:
            complain_as(self.program, line)
        if problems:
            raise typer.Exit(min(code for code, _ in problems))

    def extract(
        self,
        *,
        checkpoint: o.OneCheckpoint,
        operator: Annotated[str, typer.Option(help="Id, uid or name of the operator.")],
        state: Annotated[str, typer.Option(help="Name of the operator state.")],
        out: Annotated[Path, typer.Option(help="New folder for the bytes.")],
        subtask: Annotated[
            int | None, typer.Option(min=0, help="Write only the state of this subtask.")
        ] = None,
        alias: o.AliasOption = None,
        output: o.OutputOption = None,
    ) -> None:
        """Write the raw bytes of one operator state, one file per partition, and an index."""
        from flinkstate.commands.extract import extract_state, extracted_tables

        index = extract_state(
            checkpoint,
            self.host(),
            operator=operator,
            state=state,
            subtask=subtask,
            out=out,
            alias=alias or (),
        )
        show(output, index, lambda: extracted_tables(index))

    def declare(
        self,
        *,
        checkpoint: o.OneCheckpoint,
        out: Annotated[Path, typer.Option(help="New file to write.")],
        alias: o.AliasOption = None,
    ) -> None:
        """Write the state declarations that a checkpoint implies; list what it does not record.

        The Flink plugin reads them: `ignore` drops a state only if declarations of that operator
        (by its id, uid or uid hash) were read and do not hold it; all other unclaimed state is
        reported and kept.
        """
        from flinkstate.commands.declare import declare_checkpoint

        for remark in declare_checkpoint(checkpoint, self.host(), out=out, alias=alias or ()):
            complain_as(self.program, f"not declared: {remark}")

    def unclaimed(
        self,
        *,
        checkpoint: o.OneCheckpoint,
        declarations: o.DeclarationsFile,
        ignore_unclaimed_state: Annotated[
            bool,
            typer.Option("--ignore-unclaimed-state", help="Report unclaimed state, but exit 0."),
        ] = False,
        verify: Annotated[
            bool,
            typer.Option(
                help="Look up every file of the checkpoint first; exit 1 if one is missing."
            ),
        ] = True,
        prune_to: _PruneTo = None,
        alias: o.AliasOption = None,
        output: o.OutputOption = None,
    ) -> None:
        """Find state that the job's next version no longer declares, before a deployment.

        Exit code 5: unclaimed state found. 1: none found, but the checkpoint lacks a file. 4: some
        state names could not be read, or some files not looked up.
        """
        from flinkstate.commands.unclaimed import find_unclaimed
        from flinkstate.commands.unclaimed_tables import (
            comparison_document,
            comparison_tables,
            comparison_warnings,
        )

        found = find_unclaimed(
            checkpoint,
            self.host(),
            declarations=declarations,
            prune_to=prune_to,
            verifies=verify,
            alias=alias or (),
        )
        if is_json(output):
            print_json(comparison_document(found))
        else:
            print_tables(comparison_tables(found))
        for warning in comparison_warnings(found):
            complain_as(self.program, warning)
        code = found.exit_code(ignores_unclaimed=ignore_unclaimed_state)
        if code is not ExitCode.DONE:
            raise typer.Exit(code)
