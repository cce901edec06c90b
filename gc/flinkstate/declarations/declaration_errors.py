"""Errors in the state declarations of a job; each names the operator and the state."""

from flinkstate.errors import ExitCode, FlinkStateError


class DeclarationError(FlinkStateError):
    """A declaration is refused.

    Attributes:
        operator: Operator that declares the state, or class whose field declares it.
        state: Id of the state, or name of the field.
    """

    exit_code = ExitCode.USAGE

    def __init__(self, message: str, *, operator: str, state: str | None = None) -> None:
        """Keep the names beside the message."""
        super().__init__(message)
        self.operator = operator
        self.state = state


class StateConflictError(DeclarationError):
    """An id is declared twice, alike or not."""


class RegistryFrozenError(DeclarationError):
    """A state is declared after the job's submission."""


class UndeclaredStateError(DeclarationError):
    """The job asks for a state that it did not declare."""


class RestoreMismatchError(DeclarationError):
    """A checkpoint redistributes a state in another way than the job declares."""


def check_text(what: str, value: object, *, operator: str, state: str | None = None) -> None:
    """Check that a value is text that a file can hold.

    Raises:
        DeclarationError: The value is no text, or holds a lone surrogate.
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
