"""Comparison of two checkpoints: their shared files, and what one adds."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from flinkstate.places.locations import Alias, place_of
from flinkstate.state.contents import OperatorContents
from flinkstate.state.extents import Extent, Inline, size_of
from flinkstate.state.file_use import all_extents, roles_of
from flinkstate.values.metadata_values import Metadata, Operator


@dataclass(frozen=True, slots=True, kw_only=True)
class Side:
    """One of the two."""

    metadata: Metadata
    operators: tuple[OperatorContents, ...]
    directory: str
    aliases: Sequence[Alias] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FileAmount:
    """Distinct files, and the bytes of them that are kept."""

    files: int
    bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Amounts:
    """Files of both, of this one alone, and of the other one alone.

    A merged file counts on each side on which some of its bytes are.

    Attributes:
        inline: Bytes of this one inside ``_metadata``; they are never shared.
    """

    shared: FileAmount
    added: FileAmount
    dropped: FileAmount
    inline: int
    other_inline: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OperatorComparison:
    """One operator, by its id.

    Attributes:
        states_unknown: Names of keyed states that one has, and the other may have: its contents
            could not be read.
    """

    id: str
    uid: str | None
    name: str | None
    is_added: bool
    is_dropped: bool
    amounts: Amounts
    states_added: tuple[str, ...]
    states_dropped: tuple[str, ...]
    states_unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointComparison:
    """Comparison of one checkpoint with another."""

    checkpoint_id: int
    directory: str
    amounts: Amounts
    operators: tuple[OperatorComparison, ...]


def compared(this: Side, other: Side) -> CheckpointComparison:
    """Return what ``this`` shares with ``other`` and what it adds to it.

    Files are the same if they are at the same place, however their path is spelled; two
    segments of a merged file are the same if they begin at the same byte of it.

    Args:
        other: Checkpoint to compare it with; what it has alone is "dropped".
    """
    return CheckpointComparison(
        checkpoint_id=other.metadata.checkpoint_id,
        directory=other.directory,
        amounts=_amounts(
            all_extents(this.metadata, directory=this.directory),
            all_extents(other.metadata, directory=other.directory),
            this,
            other,
        ),
        operators=_operators(this, other),
    )


def _operators(this: Side, other: Side) -> tuple[OperatorComparison, ...]:
    here, there = _by_id(this), _by_id(other)
    return tuple(_operator(here.get(each), there.get(each), this, other) for each in here | there)


_Pair = tuple[Operator, OperatorContents]


def _by_id(side: Side) -> dict[str, _Pair]:
    pairs = zip(side.metadata.operators, side.operators, strict=True)
    return {operator.id: (operator, contents) for operator, contents in pairs}


def _operator(
    here: _Pair | None, there: _Pair | None, this: Side, other: Side
) -> OperatorComparison:
    known = [pair[1] for pair in (here, there) if pair is not None]
    keyed = _states(here, there, lambda each: {state.name for state in each.keyed_states or ()})
    operator = _states(here, there, lambda each: {state.name for state in each.operator_states})
    unknown = {*(keyed[0] if _is_unknown(there) else ()), *(keyed[1] if _is_unknown(here) else ())}
    return OperatorComparison(
        id=known[0].id,
        uid=next((each.uid for each in known if each.uid), None),
        name=next((each.name for each in known if each.name), None),
        is_added=there is None,
        is_dropped=here is None,
        amounts=_amounts(_pieces(here, this), _pieces(there, other), this, other),
        states_added=tuple(sorted({*operator[0], *(keyed[0] - unknown)})),
        states_dropped=tuple(sorted({*operator[1], *(keyed[1] - unknown)})),
        states_unknown=tuple(sorted(unknown)),
    )


def _states(
    here: _Pair | None, there: _Pair | None, names: Callable[[OperatorContents], set[str]]
) -> tuple[set[str], set[str]]:
    mine = set() if here is None else names(here[1])
    theirs = set() if there is None else names(there[1])
    return mine - theirs, theirs - mine


def _is_unknown(pair: _Pair | None) -> bool:
    return pair is not None and pair[1].keyed_unknown is not None


def _pieces(pair: _Pair | None, side: Side) -> list[Extent | Inline]:
    if pair is None:
        return []
    operator, _ = pair
    found = [piece for _, piece in roles_of(operator, side.directory)]
    if operator.coordinator is not None:
        found.append(Inline(data=operator.coordinator.data))
    return found


def _amounts(
    mine: Iterable[Extent | Inline], theirs: Iterable[Extent | Inline], this: Side, other: Side
) -> Amounts:
    my_pieces, inline = _stored(mine, this)
    their_pieces, other_inline = _stored(theirs, other)
    return Amounts(
        shared=_sum({each: my_pieces[each] for each in my_pieces.keys() & their_pieces.keys()}),
        added=_sum({each: my_pieces[each] for each in my_pieces.keys() - their_pieces.keys()}),
        dropped=_sum({each: their_pieces[each] for each in their_pieces.keys() - my_pieces.keys()}),
        inline=inline,
        other_inline=other_inline,
    )


_Key = tuple[object, int | None]


def _stored(pieces: Iterable[Extent | Inline], side: Side) -> tuple[dict[_Key, int], int]:
    places: dict[_Key, int] = {}
    inline: list[Inline] = []
    for piece in pieces:
        if isinstance(piece, Inline):
            inline.append(piece)
        else:
            place = place_of(piece.path, side.aliases) or piece.path
            places[place, piece.start] = piece.size or 0
    return places, size_of(inline)


def _sum(places: dict[_Key, int]) -> FileAmount:
    return FileAmount(files=len({place for place, _ in places}), bytes=sum(places.values()))
