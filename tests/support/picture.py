"""The README's picture: a real plan of the demo's storage, as a terminal shows it.

PYTHONPATH=tests python -m support.picture      # draws gc/pictures/plan.svg anew

The plan's folder and time are replaced by constants, so that two drawings are equal. Job ``8dae…``
is not declared ended, so that the picture shows a condition that blocks.
"""

import io
import re
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.terminal_theme import MONOKAI

from orphangc.app.commands.operate.demo import demo_settings, make_storage
from orphangc.app.render.plan.plan_tables import plan_tables
from orphangc.app.runner.make_plan import PlanFiles, make_plan
from orphangc.app.wiring.compose import start_of
from orphangc.collect.decide.breakdown import Breakdown
from orphangc.core.documents.plan import Plan

PICTURE = Path(__file__).parents[2] / "gc" / "pictures" / "plan.svg"

_COLUMNS = 100
_DAY = timedelta(days=1)
_CREATED_AT = datetime(2026, 11, 22, 3, 0, tzinfo=UTC)
_ENDED = ("453bd8d5d815d6bea9265350b25a5ff7", "81a6da3390c95fcf6d86e8e27aa0d2b9")
_FORMAT = re.sub(r"@font-face \{\{.*?\}\}\s*", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
"""Rich's frame without the fonts that it would load from elsewhere."""


def drawn() -> str:
    with tempfile.TemporaryDirectory(prefix="orphangc-picture-") as name:
        plan, breakdown = _plan(Path(name))
    console = Console(record=True, width=_COLUMNS, file=io.StringIO(), force_terminal=True)
    for part in plan_tables(plan, breakdown):
        console.print(part)
    picture = console.export_svg(
        title="orphangc plan", theme=MONOKAI, code_format=_FORMAT, unique_id="plan"
    )
    return "\n".join(line.rstrip() for line in picture.splitlines()) + "\n"


def _plan(folder: Path) -> tuple[Plan, Breakdown]:
    make_storage(folder / "checkpoints")
    settings = demo_settings(folder / "checkpoints", folder / "state")
    settings = settings.model_copy(update={"ended_job": _ENDED, "quarantine_period": _DAY})
    made = make_plan(start_of(settings), PlanFiles(out=folder / "plan"))
    plan = Plan.model_validate_json(made.plan.model_dump_json().replace(str(folder), "/demo"))
    plan = plan.model_copy(update={"created_at": _CREATED_AT})
    return plan, made.breakdown


if __name__ == "__main__":
    PICTURE.parent.mkdir(exist_ok=True)
    PICTURE.write_text(drawn())
