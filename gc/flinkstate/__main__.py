"""``flinkstate`` and ``python -m flinkstate``."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # of an import it would show a traceback

from flinkstate.console.application import main  # noqa: E402

if __name__ == "__main__":
    main()
