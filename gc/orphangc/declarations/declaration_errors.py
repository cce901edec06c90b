"""What a job can do wrong when it declares its state; each names the operator and the state."""

from __future__ import annotations

from orphangc.errors import ExitCode, OrphanGcError


class DeclarationError(OrphanGcError):
    """A declaration that cannot be made.

    Attributes:
        operator: Whose it is, or the class whose field it is.
        state: Id of the state, or name of the field.

    """

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, operator: str, state: str | None = None) -> None:
        """Keep the names beside the sentence."""
        super().__init__(message)
        self.operator = operator
        self.state = state


class StateConflictError(DeclarationError):
    """An id is declared twice, alike or not."""


class RegistryFrozenError(DeclarationError):
    """The job is submitted: nothing can be declared any more."""


class UndeclaredStateError(DeclarationError):
    """State is asked for that was not declared."""


class RestoreMismatchError(DeclarationError):
    """A checkpoint redistributes a state in another way than the job declares."""


def check_text(what: str, value: object, *, operator: str, state: str | None = None) -> None:
    """Make sure that a value is text that a file can hold.

    Raises:
        DeclarationError: It is something else, or holds half a character.

    """
    if not isinstance(value, str):
        kind = type(value).__name__
        raise DeclarationError(
            f"{what} is {value!r}, of type {kind}: text is needed", operator=operator, state=state
        )
    if value.encode("utf-8", "replace") != value.encode("utf-8", "surrogatepass"):
        raise DeclarationError(
            f"{what} is {value!r}, which no file can hold", operator=operator, state=state
        )
