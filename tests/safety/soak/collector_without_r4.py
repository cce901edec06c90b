"""The command line without one of its rules: R4, by which a root counts in every directory.

    PYTHONPATH=tests python -m safety.soak.collector_without_r4 COMMAND [ARGUMENT]...

A negative control of the soak: the files of a claimed checkpoint lie in another job's directory.
"""

import pytest

from orphangc.app.cli import main
from safety.incidents.removals import remove

REMOVED = "other_jobs_roots"

if __name__ == "__main__":
    with pytest.MonkeyPatch.context() as patch:
        remove(REMOVED, patch)
        main()
