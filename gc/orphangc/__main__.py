"""``orphangc`` and ``python -m orphangc``."""

import signal

signal.signal(signal.SIGINT, signal.SIG_DFL)  # of an import it would show a traceback

from orphangc.app.cli import main  # noqa: E402

if __name__ == "__main__":
    main()
