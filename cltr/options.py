"""Options of a component: typed, documented, and closed to unknown keys."""

from typing import Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from cltr.errors import OptionError


class Options(BaseModel):
    """Base of every component's nested ``Options``; describe each field with ``Field``."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @classmethod
    def parse(cls, values: dict[str, Any], *, owner: str) -> Self:
        """Check ``values``; an error is one line that names ``owner.key`` and what it takes.

        Example:
            >>> class Steps(Options):
            ...     epochs: int = 3
            >>> Steps.parse({"epochs": "x"}, owner="training")
            Traceback (most recent call last):
            cltr.errors.OptionError: training.epochs is 'x': input should be a valid integer...
        """
        try:
            return cls(**values)
        except ValidationError as error:
            raise OptionError(cls._explain(error, owner)) from error

    @classmethod
    def _explain(cls, error: ValidationError, owner: str) -> str:
        first = error.errors()[0]
        path = ".".join([owner, *(str(step) for step in first["loc"])])
        if first["type"] == "extra_forbidden":
            known = ", ".join(sorted(cls.model_fields)) or "none"
            return f"no option '{path}'; {owner} has: {known}" + did_you_mean(
                str(first["loc"][-1]), cls.model_fields
            )
        message = first["msg"].removeprefix("Value error, ")
        message = message[0].lower() + message[1:]
        if not first["loc"]:  # about several values together
            return f"{owner}: {message}"
        return f"{path} is {first['input']!r}: {message}"


def did_you_mean(word: str, known: Any) -> str:
    """The closest known word as a hint, or nothing.

    Example:
        >>> did_you_mean("drr", ["dr", "ips"])
        ". Did you mean 'dr'?"
    """
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f". Did you mean '{close[0]}'?" if close else ""
