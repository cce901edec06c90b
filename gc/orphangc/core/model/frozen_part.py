"""What every part of a JSON document of ours has in common."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, field_validator


class FrozenPart(BaseModel):
    """A part of a document that no one changes once it is made, and that no file can refuse."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @field_validator("*")
    @classmethod
    def _check_texts(cls, value: object) -> object:
        """Escape lone surrogates, which Java's texts may contain and no file can."""
        if isinstance(value, tuple):
            return tuple(_spelled(each) for each in value)
        return _spelled(value)


def _spelled(value: object) -> object:
    if type(value) is not str or value.isascii():
        return value
    return value.encode(errors="backslashreplace").decode()
