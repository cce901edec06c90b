"""What the program accepts, where it ships: keys of the file and of the chart, options of commands.

PYTHONPATH=tests python -m support.accepted      # writes the two schemas and the list of options
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, TypeAdapter
from typer.main import get_command

from orphangc.app.cli import app
from orphangc.app.config.configuration import Configuration, HttpSettings, ScheduledRoot
from orphangc.app.config.load import IMPLIED
from orphangc.app.config.schema import configuration_schema
from orphangc.app.config.validate import SINGULAR
from orphangc.core.lineage.retention_policy import RetentionPolicy
from orphangc.core.model.settings import Duration
from support.reference import commands

TOP = Path(__file__).parents[2]
SCHEMA = TOP / "gc/orphangc/app/config/configuration.schema.json"
CHART_SCHEMA = TOP / "helm/orphangc/values.schema.json"
OPTIONS = TOP / "tests/cli/accepted_options.txt"


def keys() -> list[str]:
    return sorted(Configuration.model_fields)


def keys_of_a_root() -> list[str]:
    return sorted({*(ScheduledRoot.model_fields.keys() - IMPLIED), *SINGULAR})


def measures(model: type[BaseModel]) -> dict[str, Any]:
    """Return the chart's schema of the durations and counts of a model; each may be a template."""
    found: dict[str, Any] = {}
    for name, field in model.model_json_schema()["properties"].items():
        for each in field.get("anyOf", [field]):
            if "pattern" in each and "integer" in each["type"]:
                found[name] = {"$ref": "#/definitions/duration"}
            elif each.get("type") == "integer":
                count = {"type": "integer", "minimum": each["minimum"]}
                found[name] = {"anyOf": [count, {"$ref": "#/definitions/count"}]}
    return found


def write_into(chart: dict[str, Any]) -> None:
    """Complete the chart's schema by what the program accepts in its configuration file."""
    config = chart["properties"]["config"]
    config["propertyNames"]["enum"] = keys()
    config["properties"]["http"]["propertyNames"] = {"enum": sorted(HttpSettings.model_fields)}
    config["properties"]["storage_roots"]["items"]["propertyNames"]["enum"] = keys_of_a_root()
    expire = {"properties": measures(RetentionPolicy)}
    chart["definitions"]["measures"]["properties"] = {**measures(ScheduledRoot), "expire": expire}
    duration = TypeAdapter(Duration).json_schema()
    chart["definitions"]["duration"]["anyOf"] = [duration, {"$ref": "#/definitions/template"}]


def options() -> Mapping[str, list[str]]:
    return {
        words: sorted(
            name for each in command.params for name in each.opts if name.startswith("--")
        )
        for words, command in commands(get_command(app))
    }


def listed_options() -> dict[str, list[str]]:
    lines = (line.split(": ", 1) for line in OPTIONS.read_text().splitlines())
    return {words: names.split() for words, names in lines}


def write() -> None:
    """Write what is accepted now; of the list of options nothing leaves."""
    SCHEMA.write_text(json.dumps(configuration_schema(), indent=1) + "\n")
    chart = json.loads(CHART_SCHEMA.read_text())
    write_into(chart)
    CHART_SCHEMA.write_text(json.dumps(chart, indent=2) + "\n")
    listed = listed_options()
    for words, names in options().items():
        listed[words] = sorted({*listed.get(words, ()), *names})
    OPTIONS.write_text("".join(f"{words}: {' '.join(n)}\n" for words, n in listed.items()))


if __name__ == "__main__":
    write()
