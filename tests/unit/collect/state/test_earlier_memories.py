"""Memories that earlier releases wrote are read whole: every fact of each kind is there.

In each document every field of every kind says something else than its default.
"""

import json
from pathlib import Path

import pytest

from flinkstate.places.locations import canonical
from orphangc.adapters.files.state_files import LocalStateFiles
from orphangc.collect.state.discovery_memory import read_discovery_memory, write_discovery_memory
from orphangc.collect.state.store import RootState
from orphangc.collect.world.memory_files import read_memory, write_memory
from orphangc.core.discovery.remembered_facts import DiscoveryMemory
from orphangc.core.memory.remembered import WorldMemory

WRITTEN = Path(__file__).parent / "earlier_memories"
ROOT = canonical("s3://bucket/checkpoints")


def facts_in(document, path=()):
    """Yield every value of a document with its place; places in a list do not count."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from facts_in(value, (*path, name))
    elif isinstance(document, list):
        for each in document:
            yield from facts_in(each, path)
    else:
        yield path, document


def names_in(kind, path=()):
    """Yield the place of every field of a document."""
    for name, field in kind.model_fields.items():
        parts = (field.annotation, *getattr(field.annotation, "__args__", ()))
        inner = next((each for each in parts if hasattr(each, "model_fields")), None)
        yield from [(*path, name)] if inner is None else names_in(inner, (*path, name))


def of_world(files: LocalStateFiles):
    state = RootState(files, ROOT)
    read = read_memory(state)
    write_memory(state, read.memory, read, "2" * 16)
    return read_memory(state).memory


def of_discovery(files: LocalStateFiles):
    read = read_discovery_memory(files)
    write_discovery_memory(read.memory, read)
    return read_discovery_memory(files).memory


KINDS = {
    f"{RootState(None, ROOT).folder}/world": (of_world, WorldMemory),
    "discovery": (of_discovery, DiscoveryMemory),
}


@pytest.mark.parametrize("folder", [*KINDS])
def test_every_fact_of_an_earlier_document_is_there(folder, tmp_path) -> None:
    """Also after it was written anew."""
    read, kind = KINDS[folder]
    (document,) = (WRITTEN / folder.rpartition("/")[2]).iterdir()
    place = tmp_path / folder
    place.mkdir(parents=True)
    (place / document.name).write_bytes(document.read_bytes())
    earlier = [*facts_in(json.loads(document.read_bytes()))]
    memory = json.loads(read(LocalStateFiles(canonical(str(tmp_path)))).model_dump_json())
    assert sorted(map(repr, earlier)) == sorted(
        repr(each) for each in facts_in(memory) if "version" not in each[0][-1]
    )
    assert {path for path, _ in earlier} >= {e for e in names_in(kind) if "version" not in e[-1]}
