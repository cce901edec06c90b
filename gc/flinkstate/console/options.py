"""Arguments and options of the commands about single checkpoints."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from flinkstate.tables.printing import Output


class CommandGroup(TyperGroup):
    """Commands whose usage errors are in words of the option; its help cuts no sentence."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command.

        Raises:
            BadParameter: An option or argument is wrong.
        """
        try:
            return super().invoke(ctx)
        except typer.BadParameter as err:
            err.message = err.message.removeprefix("Value error, ")
            raise

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the first paragraph of each command's help, to its end."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl(
                [
                    (name, " ".join((each.help or "").partition("\n\n")[0].split()))
                    for name, each in self.commands.items()
                    if not each.hidden
                ]
            )


OutputOption = Annotated[
    Output | None,
    typer.Option("--output", help="table (default on a terminal) or json (default elsewhere)."),
]
RescaleTo = Annotated[
    list[str] | None,
    typer.Option(
        help="Show the state of each new subtask at this parallelism: of every operator, or of the"
        " one with this id, uid or name. Repeatable. Exit code 1 if Flink refuses it.",
        metavar="[OPERATOR=]N",
    ),
]
Against = Annotated[
    str | None,
    typer.Option(
        help="Compare with another checkpoint: what both hold, and what each adds.",
        metavar="CHECKPOINT",
    ),
]
MetadataOnly = Annotated[
    bool,
    typer.Option("--metadata-only", help="Read no state file; names of keyed states stay unknown."),
]
AliasOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="FROM=TO",
        help="Read paths inside _metadata that start with FROM as starting with TO. Repeatable.",
        rich_help_panel="Evidence",
    ),
]
OneCheckpoint = Annotated[
    str,
    typer.Argument(
        help="Folder of a checkpoint or savepoint, or its _metadata file.", metavar="CHECKPOINT"
    ),
]
DeclarationsFile = Annotated[
    Path, typer.Option(help="Declarations file of the job's next version.")
]
