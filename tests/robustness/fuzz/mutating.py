"""Mutations of good inputs that know where things stand: lengths, codes, texts, JSON values."""

import json
import re
import struct
from collections.abc import Sequence
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

_ODD = (None, True, -1, 0, 2**63, 2**70, 1e308, "", "x", "\ud800", "/", "a" * 300, [], {}, [[]],
        "2026-01-01T00:00:00", "2026-01-01T00:00:00+01:00", float("nan"))  # fmt: skip
"""Values that nobody expects where they are put."""

_TEXT = re.compile(rb"[\x20-\x7e]{4,}")
_UUID = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")


def lengths(data: bytes) -> list[tuple[int, str]]:
    """Return where a number stands that may be a length, and how it is packed."""
    found = []
    for match in _TEXT.finditer(data):
        for form, size in ((">H", 2), (">i", 4)):
            at = match.start() - size
            if at >= 0 and 0 < struct.unpack_from(form, data, at)[0] <= len(data) - match.start():
                found.append((at, form))
    counts = (at for at in range(16, len(data) - 4) if data[at : at + 3] == b"\0\0\0")
    return found + [(at, ">i") for at in counts]


def _edited_length(draw: st.DrawFn, data: bytes) -> bytes:
    found = lengths(data)
    if not found:
        return data
    at, form = draw(st.sampled_from(found))
    old = struct.unpack_from(form, data, at)[0]
    limits = (0, 2**16 - 1) if form == ">H" else (-(2**31), 2**31 - 1)
    new = draw(st.sampled_from([old - 1, old + 1, 0, 1, 2 * old, -1, *limits]))
    new = min(max(new, limits[0]), limits[1])
    return data[:at] + struct.pack(form, new) + data[at + struct.calcsize(form) :]


def _edited_code(draw: st.DrawFn, data: bytes) -> bytes:
    """Put another handle's code where one may stand: a small number before a text or a number."""
    places = [at for at in range(len(data)) if data[at] <= 18]
    if not places:
        return data
    at = draw(st.sampled_from(places))
    return data[:at] + bytes([draw(st.integers(0, 18))]) + data[at + 1 :]


def _flipped(draw: st.DrawFn, data: bytes) -> bytes:
    if not data:
        return data
    at = draw(st.integers(0, len(data) - 1))
    return data[:at] + bytes([data[at] ^ (1 << draw(st.integers(0, 7)))]) + data[at + 1 :]


def _cut(draw: st.DrawFn, data: bytes) -> bytes:
    at = draw(st.integers(0, len(data)))
    return data[:at] + data[at + draw(st.integers(1, 60) | st.just(len(data))) :]


def _renamed(draw: st.DrawFn, data: bytes) -> bytes:
    """Put another UUID where one stands: a good file with another reference."""
    found = list(_UUID.finditer(data))
    if not found:
        return data
    match = draw(st.sampled_from(found))
    return data[: match.start()] + str(draw(st.uuids())).encode() + data[match.end() :]


_EDITS = (_flipped, _cut, _edited_length, _edited_code, _renamed)


@st.composite
def mutated(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Return a good input after one to three edits, or two good ones spliced."""
    data = draw(st.sampled_from(seeds))
    for _ in range(draw(st.integers(1, 3))):
        edit = draw(st.sampled_from([*_EDITS, None]))
        if edit is not None:
            data = edit(draw, data)
            continue
        other = draw(st.sampled_from(seeds))
        start = draw(st.integers(0, len(other)))
        at = draw(st.integers(0, len(data)))
        part = other[start : start + draw(st.integers(1, 200))]
        data = data[:at] + part + data[at + draw(st.sampled_from([0, len(part)])) :]
    return data


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Return every place of a JSON value, as its holder and the key in it."""
    keys = value.items() if isinstance(value, dict) else enumerate(value)
    found = []
    for key, inner in keys:
        found.append((value, key))
        if isinstance(inner, dict | list):
            found += _places(inner)
    return found


@st.composite
def mutated_values(draw: st.DrawFn, seeds: Sequence[bytes]) -> Any:
    """Return a good JSON value after a few edits of what stands in it."""
    value = json.loads(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.integers(1, 3))):
        places = _places(value)
        if not places:
            return value
        holder, key = draw(st.sampled_from(places))
        match draw(st.sampled_from(["replace", "replace", "drop", "double", "wrap"])):
            case "replace":
                holder[key] = deepcopy(draw(st.sampled_from(_ODD)))
            case "drop":
                del holder[key]
            case "double" if isinstance(holder, list):
                holder.append(deepcopy(holder[key]))
            case "double":
                holder[f"{key}x"] = deepcopy(holder[key])
            case "wrap":
                holder[key] = [holder[key]]
    return value


def mutated_json(seeds: Sequence[bytes]) -> st.SearchStrategy[bytes]:
    """Return good JSON with other values in it, or with other bytes."""
    values = mutated_values(seeds).map(lambda value: json.dumps(value).encode())
    return values | mutated(seeds)
