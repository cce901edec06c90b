"""The configuration that says by hand what was discovered."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import yaml

from flinkstate.places.locations import canonical
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import visible
from orphangc.app.config.configuration import Configuration, ScheduledRoot
from orphangc.app.config.load import IMPLIED
from orphangc.app.config.validate import SINGULAR
from orphangc.app.wiring.discovering import Discovered
from orphangc.app.wiring.searched_places import place_here
from orphangc.core.model.settings import without_credentials

_COMMON = {name: Configuration.model_fields[name].default for name in ("mode", "schedule")}
"""What a storage root has in a file that says nothing about it."""


def settings_by_hand(found: Discovered) -> dict[str, Any]:
    """Return the configuration that says by hand what was discovered.

    It states no closed world while a part is not understood: a file cannot say what that part
    blocks. Nor has it credentials.
    """
    roots = found.configuration.storage_roots
    others = {each.location for each in roots}
    return {
        "storage_roots": [
            {
                name: value
                for name, value in _settings(each, others).items()
                if value != _COMMON.get(name)
                and not (name == "closed_world" and found.world.unclear)
            }
            for each in roots
        ]
    }


def _settings(root: ScheduledRoot, others: set[Any]) -> dict[str, Any]:
    """Return what is set for a storage root; places that it searches besides become extra roots.

    One that Flink names for something else than checkpoints is stated to be empty if it is here.
    """
    places = [each for each in root.siblings if canonical(each) not in others]
    empty = [each for each in root.without_checkpoints if place_here(canonical(each))]
    searched = root.model_copy(
        update={
            "extra_roots": (*root.extra_roots, *places),
            "empty_roots": tuple(dict.fromkeys((*root.empty_roots, *empty))),
        }
    )
    shown = searched.model_dump(mode="json", exclude_defaults=True, exclude=set(IMPLIED))
    spelled = {old: new for new, old in SINGULAR.items()}
    return {"root": shown.pop("root"), **{spelled.get(k, k): v for k, v in shown.items()}}


def yaml_of(found: Discovered, *, names_parts: bool = True) -> str:
    """Return that configuration as YAML; comments say what it cannot say.

    Args:
        names_parts: Whether a comment names each part that is not understood.
    """
    comments = "".join(f"# {line}\n" for line in _unsaid(found, names_parts=names_parts))
    settings = settings_by_hand(found)
    return comments + yaml.dump(settings, Dumper=_Plain, sort_keys=False, allow_unicode=True)


def _unsaid(found: Discovered, *, names_parts: bool) -> Iterator[str]:
    unclear = found.world.unclear
    if unclear:
        yield "NOT EQUIVALENT: something cannot be read, and a file written by hand blocks"
        yield "nothing for it. State closed_world only when all that it may name is searched."
        if names_parts:
            yield from (f"- {redacted(visible(f'{each.origin}: {each.why}'))}" for each in unclear)
    if any(without_credentials(each) != each for each in found.world.clusters):
        yield "Credentials of REST addresses are left out."


class _Plain(yaml.SafeDumper):
    """Writes a list again where it is used again: people copy single storage roots."""

    def ignore_aliases(self, data: Any) -> bool:
        """Return ``True``."""
        del data
        return True
