"""Options of a component: typed, documented, and closed to unknown keys."""

from typing import Annotated, Any, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, ValidationError

from cltr.errors import OptionError


class Options(BaseModel):
    """Base class of a component's nested ``Options``. Describe each field with ``Field``."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)

    @classmethod
    def parse(cls, values: dict[str, Any], *, owner: str) -> Self:
        """Check ``values``; an error is one line that names ``owner.key`` and the allowed values.

        Without an owner it names the key alone.

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
        steps = [owner] * bool(owner) + [str(step) for step in first["loc"]]
        path = ".".join(steps)
        if first["type"] == "extra_forbidden":
            fields = cls._table(first["loc"][:-1]).model_fields
            holder = f"{'.'.join(steps[:-1])} has" if steps[:-1] else "there are"
            known = ", ".join(sorted(fields)) or "none"
            return f"no option '{path}'; {holder}: {known}" + did_you_mean(steps[-1], fields)
        message = first["msg"].removeprefix("Value error, ")
        message = message[0].lower() + message[1:]
        if not first["loc"]:  # about several values together
            return f"{owner}: {message}" if owner else message
        return f"{path} is {first['input']!r}: {message}"

    @classmethod
    def _table(cls, path: tuple[Any, ...]) -> type[BaseModel]:
        """The options that lie at a path below these ones."""
        found: type[BaseModel] = cls
        for step in path:
            found = found.model_fields[step].annotation  # type: ignore[assignment]
        return found


class Choice(Options):
    """A component by name, with its options beside it."""

    model_config = ConfigDict(extra="allow")
    name: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but the name, to be checked by the component itself."""
        return dict(self.model_extra or {})


def did_you_mean(word: str, known: Any) -> str:
    """The closest known word as a hint, or nothing.

    Example:
        >>> did_you_mean("drr", ["dr", "ips"])
        ". Did you mean 'dr'?"
    """
    from difflib import get_close_matches

    close = get_close_matches(word, list(known), n=1)
    return f". Did you mean '{close[0]}'?" if close else ""


def read_share(given: Any) -> float:
    """A number from 0 to 1, also written as a percentage; ValueError if it is none.

    Example:
        >>> read_share("2%"), read_share(0.02)
        (0.02, 0.02)
    """
    text = str(given).strip()
    try:
        share = float(text.removesuffix("%")) / (100.0 if text.endswith("%") else 1.0)
    except ValueError as error:
        raise ValueError("it is not a number such as 0.02 or 2%") from error
    if not 0.0 <= share <= 1.0:
        meant = f"; for {text}% say {text}% or {share / 100:g}" if 1.0 < share <= 100.0 else ""
        raise ValueError(f"it does not lie between 0 and 1 (0% and 100%){meant}")
    return share


ShareOption = Annotated[float, BeforeValidator(read_share)]
"""An option that is a share: 0.02 or ``2%``."""
