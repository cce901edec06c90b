"""What every part of a JSON document of ours has in common."""

from typing import Self

from pydantic import BaseModel, ConfigDict, field_validator


class FrozenPart(BaseModel):
    """A part of a document that no one changes once it is made, and that no file can refuse."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @classmethod
    def like(cls, value: object, **others: object) -> Self:
        """Return the part of a value whose fields have the same names, but for these others."""
        shared = {name: getattr(value, name) for name in cls.model_fields if name not in others}
        return cls.model_validate(shared | others)

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
