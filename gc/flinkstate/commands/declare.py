"""``declare``: write the state declarations that a checkpoint implies."""

from collections.abc import Sequence
from pathlib import Path

from pydantic import ValidationError

from flinkstate.commands.declarations_file import declarations_yaml
from flinkstate.commands.open_checkpoint import read_named
from flinkstate.compatibility.declarations import Declarations
from flinkstate.compatibility.infer import implied_by, undeclarable
from flinkstate.errors import FlinkStateError, SettingsError, StorageUnreachableError
from flinkstate.files.host import Host
from flinkstate.files.paths import aliases_from, local_target, refuse_inside
from flinkstate.state.contents import CheckpointContents, OperatorContents
from flinkstate.text.problems import in_one_line, problems_in


def declare_checkpoint(uri: str, host: Host, *, out: Path, alias: Sequence[str]) -> list[str]:
    """Write the declarations file of a checkpoint; return what it lacks, one line each.

    Raises:
        SettingsError: The file is a URI, exists, or would be inside the checkpoint's folder.
        FlinkStateError: The checkpoint cannot be read, or the file not be written.
    """
    place = local_target(out)
    checkpoint = read_named(uri, host, aliases_from(alias))
    refuse_inside(checkpoint.folder, out)
    contents = checkpoint.contents
    remarks = {each.id: undeclarable(each) for each in contents.operators}
    text = declarations_yaml(
        _implied_by(contents, uri),
        heading=f"what checkpoint {contents.checkpoint_id} in {checkpoint.folder} implies",
        remarks=remarks,
    )
    try:
        is_new = not out.exists() and host.writer(place.parent).create(out.name, text.encode())
    except StorageUnreachableError as err:
        raise FlinkStateError(f"{out} cannot be written: {err}") from err
    if not is_new:
        raise SettingsError(f"{out} exists and is left as it is: give a new file")
    return [
        f"{_label(operator)}: {remark}"
        for operator in contents.operators
        for remark in remarks[operator.id]
    ]


def _implied_by(contents: CheckpointContents, uri: str) -> Declarations:
    try:
        return implied_by(contents)
    except ValidationError as err:  # for example two operators with one id, which no Flink writes
        problem = in_one_line(problems_in(err))
        raise FlinkStateError(f"{uri} implies no declarations: {problem}") from err


def _label(operator: OperatorContents) -> str:
    return f"operator {operator.uid or operator.name or operator.id}"
