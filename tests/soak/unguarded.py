"""The command line without one of its rules: R4, by which a root counts in every directory.

    PYTHONPATH=tests python -m soak.unguarded COMMAND [ARGUMENT]...

A negative control of the soak: the files of a claimed checkpoint lie in another job's directory.
"""

import pytest

from losses.removals import remove
from orphangc.app.cli import main

REMOVED = "other_jobs_roots"

if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        remove(REMOVED, patch)
        main()
