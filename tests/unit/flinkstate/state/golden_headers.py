"""The golden headers of keyed and operator state, each with what Flink itself read from it."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from flinkstate.state.backend_headers import (
    KeyedHeader,
    OperatorHeader,
    read_keyed_header,
    read_operator_header,
)
from flinkstate.state.state_meta_info import StateRecord

ROOT = Path(__file__).parents[3] / "golden" / "keyed-meta"

Header = KeyedHeader | OperatorHeader


@dataclass(frozen=True)
class GoldenHeader:
    path: Path

    @property
    def name(self) -> str:
        """Release and case."""
        return self.path.relative_to(ROOT).with_suffix("").as_posix()

    @property
    def data(self) -> bytes:
        return self.path.read_bytes()

    @property
    def expected(self) -> dict[str, Any]:
        return json.loads(self.path.with_suffix(".expected.json").read_text("utf-8"))

    @property
    def read(self) -> Callable[[bytes], Header]:
        is_keyed = self.path.name.startswith("keyed")
        return read_keyed_header if is_keyed else read_operator_header


@cache
def golden_headers() -> tuple[GoldenHeader, ...]:
    return tuple(GoldenHeader(path) for path in sorted(ROOT.rglob("*.bin")))


def states_of(header: Header) -> tuple[StateRecord, ...]:
    if isinstance(header, KeyedHeader):
        return header.states
    return header.operator_states + header.broadcast_states


def as_expected(header: Header) -> dict[str, Any]:
    """Return a header as Flink's getters return it."""
    return {
        "proxy_version": header.version,
        "compressed": header.is_compressed,
        "states": [
            {"name": each.name, "kind": each.kind.name, "options": each.options}
            for each in states_of(header)
        ],
    }
