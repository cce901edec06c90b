"""``explain``: the reasons for one object's verdict."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flinkstate.files.paths import located
from flinkstate.places.locations import canonical, places_of
from orphangc.adapters.files.translate import escaped
from orphangc.adapters.rows.plan_directory import PlanDirectory
from orphangc.app.config.validate import settings_from
from orphangc.app.console.progress import shown_progress
from orphangc.app.runner.make_plan import opened_cycle
from orphangc.app.wiring.compose import checkpoints_now, start_of, state_of
from orphangc.app.wiring.discovering import load_and_discover
from orphangc.collect.decide.explanation import OneVerdict, explain
from orphangc.core.model.naming import job_directory_of
from orphangc.core.model.settings import StorageRootSettings
from orphangc.core.model.types import ObjectKey
from orphangc.errors import SettingsError


def explain_key(
    key: str,
    *,
    plan_folder: Path | None,
    root: str | None,
    config: Path | None,
    values: Mapping[str, Any],
) -> dict[str, Any]:
    """Return the explanation of one object's verdict, in a saved plan or in a fresh cycle.

    Raises:
        SettingsError: The object is not in the plan or storage, or its storage root is unknown; or
            a configuration is given, and a plan or a setting as well.
    """
    if config is not None and (plan_folder is not None or any(values.values())):
        raise SettingsError("with --config, the file says all of the storage roots")
    if plan_folder is not None:
        return _from_plan(key, PlanDirectory(plan_folder))
    if config is None:
        settings = settings_from({**values, "root": root or _root_of(key)})
    else:
        settings = _configured(config, key, root)
    relative = escaped(_relative(key, settings))
    found, start = OneVerdict(relative), start_of(settings)
    with (
        shown_progress() as progress,
        opened_cycle(start, lambda: found, progress, is_remembered=False) as (cycle, _),
    ):
        if found.row is None:
            raise SettingsError(f"{key} is not stored below {settings.root}")
        return explain(
            relative,
            found.row,
            plan=cycle.plan,
            checkpoints=cycle.mark.checkpoints,
            tombstone=start.state.tombstones().get(ObjectKey(relative)),
            base=settings.location,
        )


def _configured(config: Path, key: str, root: str | None) -> StorageRootSettings:
    roots = load_and_discover(config).configuration.storage_roots
    if root is None and len(roots) == 1:
        return roots[0].bare
    root = root or _root_of(key)
    for each in roots:
        if each.location == canonical(root):
            return each.bare
    known = ", ".join(each.root for each in roots)
    raise SettingsError(f"{config} names no storage root {root}: give --root; it names {known}")


def _from_plan(key: str, directory: PlanDirectory) -> dict[str, Any]:
    plan = directory.read()
    relative = escaped(_relative(key, plan.settings))
    found = OneVerdict(relative)
    for batch in directory.rows(plan):
        found.write(batch)
    if found.row is None:
        raise SettingsError(
            f"{key} is not in the plan of {plan.root}; a key is relative to that, or the whole URI"
        )
    return explain(
        relative,
        found.row,
        plan=plan,
        checkpoints=checkpoints_now(plan.settings, places_of(each.uri for each in plan.roots)),
        tombstone=state_of(plan.settings).tombstones().get(ObjectKey(relative)),
        base=canonical(plan.root),
    )


def _relative(key: str, settings: StorageRootSettings) -> str:
    base = settings.location
    if ":" in key.partition("/")[0] or key.startswith("/"):
        inside = base.key_of(canonical(str(located(key)), settings.aliases))
        if not inside:
            raise SettingsError(f"{key} does not lie below {base}")
        return inside
    return base.key_of(located(key)) or key if base.scheme == "file" else key


def _root_of(key: str) -> str:
    """Return the folder that holds the job directory of an object.

    Raises:
        SettingsError: The object is in no job directory, or no file here: a forgotten ``--plan``
            must not search all of the file system that the command runs in.
    """
    if ":" not in key and not Path(key).exists():
        raise SettingsError(f"{key} is no file here: give --plan, --root, or the whole URI")
    directory = job_directory_of(located(key).parent)
    if directory is None:
        raise SettingsError(f"{key} is in no job directory: give --plan or --root")
    return str(directory.parent)
