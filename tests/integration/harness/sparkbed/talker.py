"""A process that keeps one Spark session and runs commands in it: one a line, as JSON."""

import io
import json
import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

from flinkstate.places.locations import canonical
from orphangc.adapters.spark.session import opened_session
from orphangc.app.cli import main


def carry_out(arguments: list[str]) -> dict[str, object]:
    out, err, code = io.StringIO(), io.StringIO(), 0
    sys.argv = ["orphangc", *arguments]
    try:
        with redirect_stdout(out), redirect_stderr(err):
            if arguments[0] == "--decide":
                decide(*arguments[1:])
            else:
                main()
    except SystemExit as end:
        code = int(end.code or 0)
    return {"code": code, "out": out.getvalue(), "err": err.getvalue()}


def decide(folder: str, option: str = "", work: str = "") -> None:
    """Decide what was generated; see ``deciding``, which takes seconds to import."""
    from integration.harness.sparkbed.deciding import on_spark  # noqa: PLC0415

    assert option in {"", "--work"}
    on_spark(Path(folder), canonical(work) if work else None)


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever else writes to stdout must not be taken for an answer
    with opened_session():
        for line in sys.stdin:
            print(json.dumps(carry_out(json.loads(line))), file=answers, flush=True)
