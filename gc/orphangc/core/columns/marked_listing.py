"""Rows of a listing with their liveness and tombstones, as columns."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from orphangc.core.columns.listing_columns import Columns
from orphangc.core.columns.tombstones import Remembered


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkedRows:
    """One batch: n objects, and beside them the folders that the listing showed.

    Attributes:
        columns: The objects.
        folders: Keys of folders, without their trailing slash; only stores with real folders
            show any.
        in_parsed: bool[n], whether the parser's oracle names the UUID that the name ends in.
        in_raw: bool[n], whether the raw bytes' oracle does.
        tombstones: Facts of the tombstones of each row.

    """

    columns: Columns
    folders: tuple[str, ...]
    in_parsed: npt.NDArray[np.bool_]
    in_raw: npt.NDArray[np.bool_]
    tombstones: Remembered

    @property
    def is_live(self) -> npt.NDArray[np.bool_]:
        """Return bool[n]: whether either oracle names the UUID."""
        return self.in_parsed | self.in_raw
