"""``discover``: what resources and configuration files say, as a document and as tables."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError
from rich.console import RenderableType
from rich.table import Table
from rich.text import Text

from flinkstate.places.locations import canonical
from flinkstate.text.problems import in_one_line, problems_in
from flinkstate.text.redaction import redacted
from flinkstate.text.shown_text import counted, visible
from orphangc.app.commands.health import CheckStatus
from orphangc.app.config.configuration import Configuration, DiscoverySettings, ScheduledRoot
from orphangc.app.config.load import as_written, load_configuration
from orphangc.app.render.text_table import as_text, text_table
from orphangc.app.wiring.discovering import Discovered, discovered
from orphangc.app.wiring.searched_places import place_here
from orphangc.core.discovery.discovered_facts import Discovery
from orphangc.core.discovery.discovery_document import discovery_document
from orphangc.core.model.settings import without_credentials
from orphangc.errors import SettingsError


def discovery_of_call(config: Path | None, given: Mapping[str, Any]) -> Discovered:
    """Return what is discovered by a file, by options, or by both, or raise ``SettingsError``."""
    configuration = Configuration() if config is None else load_configuration(config)
    own = configuration.discovery.model_dump(exclude_unset=True)
    chosen = {name: value for name, value in given.items() if value}
    missing = [each for each in chosen.get("files", ()) if not Path(each).is_file()]
    if missing:
        raise SettingsError(f"--file {missing[0]}: there is no such file; nothing is shown")
    try:
        settings = DiscoverySettings(**{**own, **chosen})
    except ValidationError as err:
        raise SettingsError(f"discovery.{in_one_line(problems_in(err))}") from err
    if not settings.is_on:
        raise SettingsError("give --namespace, --file, --flink-rest, or --config with discovery")
    return discovered(configuration.model_copy(update={"discovery": settings}), lists_jobs=True)


def document_of(found: Discovered) -> dict[str, Any]:
    """Return the document of the contract, and the equivalent settings beside."""
    return {
        **discovery_document(found.discovery, unclear=found.world.unclear, over=found.over),
        "settings": settings_by_hand(found),
    }


def unnamed_text(discovery: Discovery) -> str:
    """Return the workloads that look like Flink, and what may be missing of them."""
    shown = ", ".join(each.resource for each in discovery.unnamed)
    return (
        f"looks like Flink, and no configuration names it: {shown}; if it runs jobs, name its REST"
        " service in discovery.flink_rest"
    )


def discovery_health(found: Discovered) -> tuple[CheckStatus, str]:
    """Return whether everything can be read, and is named."""
    unclear = found.world.unclear
    read = counted(len(found.discovery.present), "resource or file", "resources and files")
    said = f"{read} read, {counted(len(found.world.known_roots), 'storage root')}"
    if not found.discovery.present:
        return CheckStatus.WARNING, "nothing of Flink's was found: mistyped?"
    if unclear:
        return CheckStatus.WARNING, f"{said}; blocks deletion: {unclear[0].block}"
    if found.discovery.unnamed:
        return CheckStatus.WARNING, f"{said}; {unnamed_text(found.discovery)}"
    return CheckStatus.GOOD, said


_COLUMNS: Mapping[str, Sequence[str]] = {
    "storage_roots": ("uri",),
    "extra_roots": ("uri", "use", "searched"),
    "clusters": ("uri", "asked"),
    "ha": ("type", "where", "cluster_id"),
    "pins": ("uri",),
    "jobs": ("job_id", "name", "state", "followed_by"),
    "unnamed": ("name",),
}
_TITLES: Mapping[str, str] = {
    "extra_roots": "other directories",
    "ha": "high availability",
    "pins": "checkpoints and savepoints that are named",
    "unnamed": "looks like Flink, and no configuration names it",
}


def discovery_tables(found: Discovered) -> list[RenderableType]:
    """Return what was found in numbers, what is not understood, all facts, and the same by hand."""
    unclear = found.world.unclear
    document = discovery_document(found.discovery, unclear=unclear, over=found.over)
    by_hand = "Nothing that was read names a storage root."
    if found.configuration.storage_roots:
        shown = yaml_of(found, names_parts=False)
        by_hand = f"As a configuration file (--as-config prints only this):\n\n{shown}"
    return [
        Text(headline(found, document)),
        *(as_text(redacted(f"▲ blocks everything: {each.block}"), "yellow") for each in unclear),
        *(
            _table(kind, columns, document[kind])
            for kind, columns in _COLUMNS.items()
            if document[kind]
        ),
        Text(by_hand),
    ]


def headline(found: Discovered, document: Mapping[str, Any]) -> str:
    """Return what was found, in one sentence."""
    parts = (
        counted(len(found.world.known_roots), "storage root"),
        counted(len(document["clusters"]), "cluster"),
        counted(len({each["job_id"] for each in document["jobs"]}), "job"),
    )
    read = counted(len(found.discovery.present), "resource or file", "resources and files")
    unclear = len(found.world.unclear)
    blocks = (
        f"; {counted(unclear, 'part')} not understood, which blocks deletion" if unclear else ""
    )
    return f"{', '.join(parts)} in {read}{blocks}"


def _table(kind: str, columns: Sequence[str], entries: Sequence[Mapping[str, Any]]) -> Table:
    first, *others = columns
    filled = [name for name in others if any(each[name] not in {None, ""} for each in entries)]
    has_earlier = not all(each.get("present", True) for each in entries)
    seen = ["seen"] if has_earlier else []
    titles = (_TITLES.get(kind, kind), *filled, *seen, "from", "field")
    table = text_table((each.replace("_", " ") for each in titles), ())
    table.columns[0].no_wrap = kind == "jobs"
    for each in entries:
        when = ["now" if each.get("present", True) else "earlier"] if has_earlier else []
        source = each["from"]
        shown = "/".join(p for p in (source["kind"], source["namespace"], source["name"]) if p)
        cells = (*(_cell(each[name]) for name in (first, *filled)), *when, shown, source["field"])
        table.add_row(*(as_text(redacted(cell)) for cell in cells))
    return table


def _cell(value: Any) -> str:
    return {True: "yes", False: "no", None: ""}.get(value, str(value))


_COMMON = {
    **{name: Configuration.model_fields[name].default for name in ("mode", "schedule")},
    "storage_options": {},
}
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
    shown = as_written(searched, without_defaults=True)
    return {"root": shown.pop("root"), **shown}


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
        del data
        return True
