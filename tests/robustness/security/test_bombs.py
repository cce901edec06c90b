"""Small files that stand for large ones, and values without end: told in one line, in little
memory and time.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

from cli.helpers import contents
from support.processes import finished

TESTS = Path(__file__).parents[2]
MOST_MEGABYTES = 800
"""Of a process whose libraries alone take some 200."""


def test_no_input_takes_all_memory_or_ends_in_a_traceback(tmp_path, record_property) -> None:
    """Configuration, plan, snapshot, REST answer, page and inventory, in a limited process."""
    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "beside").write_text("untouched")
    before = {name: fact for name, fact in contents(tmp_path).items() if name == "beside"}
    surroundings = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = finished(
        [sys.executable, "-m", "robustness.security.limited", work],
        env=surroundings | {"PYTHONPATH": str(TESTS), "XDG_STATE_HOME": str(work / "state")},
        stdin=subprocess.DEVNULL,
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    assert (done.returncode, len(found)) == (0, 35), done.stderr[-2000:]
    wrong = [each for each in found if not each["ended"].startswith("told: ")]
    assert wrong == []
    assert max(each["megabytes"] for each in found) < MOST_MEGABYTES
    left = contents(tmp_path)
    assert {name: left[name] for name in before} == before
    assert {name.partition("/")[0] for name in left} == {"work", "beside"}
    peak = max(each["megabytes"] for each in found)
    record_property("told", f"{len(found)} bombs and endless values: {peak} MB at most")
