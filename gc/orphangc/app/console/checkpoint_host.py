"""How the commands about single checkpoints open places here: as a run does."""

from collections.abc import Callable
from typing import cast

from flinkstate.files.host import FolderReader, Host
from flinkstate.places.locations import Location
from orphangc.adapters.open import open_state_files, open_storage
from orphangc.app.console.progress import shown_progress

HOST = Host(
    reader=cast("Callable[[Location], FolderReader]", open_storage),  # its keys are texts
    writer=open_state_files,
    progress=shown_progress,
)
