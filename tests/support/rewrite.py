"""Everything that is written from the code, written anew by one command.

PYTHONPATH=tests python -m support.rewrite
"""

import subprocess
import sys
from shutil import which

from support.pages import TOP

SCRIPTS = (
    "support.setting_texts",
    "support.accepted",
    "support.reference",
    "safety.rules.rules",
    "support.house",
    "support.tests_map",
)
"""In this order: the options are made from the settings, the pages from both."""


def main() -> None:
    """Run each in a process of its own, which imports what those before it have written."""
    for name in SCRIPTS:
        subprocess.run([sys.executable, "-m", name], check=True)
    if which("jsonnet"):
        subprocess.run([TOP / "deploy/monitoring/render.sh"], check=True)
    else:
        sys.stderr.write("no jsonnet: if deploy/monitoring/mixin changed, run render.sh there\n")


if __name__ == "__main__":
    main()
