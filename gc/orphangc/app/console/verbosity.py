"""How much a command shows, as its command line and its configuration ask."""

from dataclasses import dataclass


@dataclass(slots=True)
class Verbosity:
    """What a process was asked to show.

    Attributes:
        audit_log: Where each object that was to be deleted gets a line: ``stderr``, a file, or
            nowhere.
    """

    is_verbose: bool = False
    is_quiet: bool = False
    audit_log: str | None = None


asked = Verbosity()
"""That of this process; the command line and the configuration set it."""
