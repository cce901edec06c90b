"""Mutate ``orphangc.core`` and see whether its tests notice. Run by hand.

    PYTHONPATH=tests .venv/bin/python -m safety.mutation [MODULE ...] [--part N/M] [--work DIR]

Prints how the mutants of each module ended, and every survivor that ``equivalents.toml`` does not
argue to be no different; ends with an error if there is one. It tries mutants for as many seconds
as ``ORPHANGC_TESTS_SECONDS`` has, if that is set, and says how many it did not try. With
``--again``, mutants that survived last time are tried anew, which is how a new test is seen to
kill.
"""

import argparse
import os
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from safety.mutation.outcome import (
    KILLED,
    NOT_TRIED,
    counted,
    equivalents,
    mutmut,
    statuses,
    survivors,
    unexplained,
)
from safety.mutation.tree import lay_out, modules_of_part
from support.ending import ENVIRONMENT


def run(work: Path, modules: list[str], asked: list[str], children: int, *, again: bool) -> int:
    """Mutate; return how many survivors nobody explains; each module asked for has a mutant."""
    console, began = Console(width=110, highlight=False), time.monotonic()
    work.mkdir(parents=True, exist_ok=True)
    lay_out(work, modules)
    names = [each for each, word in statuses(work).items() if word not in KILLED] if again else []
    limit = os.environ.get(ENVIRONMENT)
    rest = None if limit is None else max(1.0, float(limit) - (time.monotonic() - began))
    mutmut(work, "run", "--max-children", str(children), *names, seconds=rest)
    every = statuses(work)
    found = {name: word for name, word in every.items() if word != NOT_TRIED}
    if untouched := set(asked) - {each.rpartition(".")[2] for each in counted(every)}:
        raise SystemExit(f"no mutants of {', '.join(sorted(untouched))}: nothing is proven")
    if not found:
        raise SystemExit(f"none of {len(every)} mutants was tried: nothing is proven")
    table = Table("module", *KILLED, "survived", "no tests", "other")
    for module, counts in sorted(counted(found).items()):
        known = [counts[word] for word in (*KILLED, "survived", "no tests")]
        table.add_row(module, *map(str, known), str(counts.total() - sum(known)))
    console.print(table)
    left = list(survivors(work, found))
    wrong = unexplained(left, equivalents())
    for name, change in wrong:
        console.print(f"\n{name}\n- {change.before}\n+ {change.after}", markup=False)
    console.print(
        f"\n{len(found)} mutants, {len(found) - len(left)} killed, {len(left) - len(wrong)} argued"
        f" to be equivalent, {len(wrong)} neither, {len(every) - len(found)} not tried;"
        f" {time.monotonic() - began:.0f} s"
    )
    return len(wrong)


def main() -> None:
    parser = argparse.ArgumentParser(prog="mutation", description=__doc__.partition("\n")[0])
    parser.add_argument("modules", nargs="*", metavar="MODULE", help="judge, aws, ...")
    parser.add_argument("--work", type=Path, help="keep the tree, and go on there next time")
    parser.add_argument("--children", type=int, default=2)
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--part", metavar="N/M", help="the modules of part N, from 0, of M")
    args = parser.parse_args()
    modules = args.modules
    if args.part is not None:
        modules = [*modules, *modules_of_part(*map(int, args.part.split("/")))]
    if args.work is not None:
        raise SystemExit(
            bool(run(args.work, modules, args.modules, args.children, again=args.again))
        )
    with tempfile.TemporaryDirectory(prefix="mutation-") as work:
        raise SystemExit(bool(run(Path(work), modules, args.modules, args.children, again=False)))


if __name__ == "__main__":
    main()
