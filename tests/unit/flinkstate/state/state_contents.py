"""Contents of checkpoints, and declarations, in few words."""

from flinkstate.compatibility.comparison import DeclarationComparison
from flinkstate.compatibility.declarations import Declarations
from flinkstate.compatibility.find_unclaimed import compared
from flinkstate.operator_ids import operator_id
from flinkstate.state.contents import (
    CheckpointContents,
    KeyedStateContents,
    KeyedStateKind,
    OperatorContents,
    OperatorStateContents,
)
from flinkstate.values.handles import StateMode

MODES = {
    "split": StateMode.SPLIT_DISTRIBUTE,
    "union": StateMode.UNION,
    "broadcast": StateMode.BROADCAST,
}


def operator(
    uid: str, states: dict[str, str] | None = None, keyed: dict[str, str] | None = None, **more
) -> OperatorContents:
    """Return an operator; states by name, with redistribution or kind. 10 bytes each."""
    return OperatorContents(
        **{
            "id": operator_id(uid),
            "uid": uid,
            "name": None,
            "parallelism": 2,
            "max_parallelism": 128,
            "operator_states": tuple(
                OperatorStateContents(
                    name=name, mode=MODES[mode], partitions=2, bytes=10, subtasks=(0, 1)
                )
                for name, mode in (states or {}).items()
            ),
            "keyed_states": tuple(
                KeyedStateContents(name=name, kind=KeyedStateKind(kind))
                for name, kind in (keyed or {}).items()
            ),
            "operator_bytes": 10 * len(states or {}),
            "keyed_bytes": 10 * len(keyed or {}),
        }
        | more
    )


def declared(uid: str, states=None, keyed=None, **more):
    """Return an operator's declaration as the file says it."""
    return {
        "uid": uid,
        "operator_states": [
            {"id": name, "redistribution": mode} for name, mode in (states or {}).items()
        ],
        "keyed_states": [{"id": name, "type": kind} for name, kind in (keyed or {}).items()],
    } | more


def comparison(
    stored: list[OperatorContents], *declarations, stateless: tuple[str, ...] = ()
) -> DeclarationComparison:
    """Return what is found; every operator but the stateless ones has state."""
    return compared(
        CheckpointContents(checkpoint_id=7, format_version=6, operators=tuple(stored)),
        Declarations.model_validate({"version": 1, "operators": list(declarations)}),
        stateful={each.id for each in stored} - {operator_id(uid) for uid in stateless},
    )
