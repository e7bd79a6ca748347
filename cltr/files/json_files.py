"""JSON and TOML from elsewhere: whatever is wrong with a text is one clear line.

Python's own readers end in errors of many kinds: text that is not UTF-8, nesting that is too deep,
whole numbers with thousands of digits. Here all of them are a :class:`~cltr.errors.DataError`.
:class:`Schema` says what the values must be.
"""

import json
import tomllib
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, ValidationError

from cltr.errors import CltrError, DataError, OptionError

TOO_DEEP = "values are nested too deep"
MOST_DOTS = 2_000
"""Dots in a line of TOML: Python's reader takes memory by the square of the parts of a key."""


def parse_json(text: str | bytes, *, where: Path | str) -> Any:
    """The value of a JSON text; NaN and infinite numbers are refused.

    Args:
        text: in UTF-8, if it is bytes.
        where: what the text is, for the message.

    Example:
        >>> parse_json('{"epochs": 3}', where="result.json")
        {'epochs': 3}
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError as error:
        raise DataError(f"{where}: is not UTF-8 text") from error
    except RecursionError as error:
        raise DataError(f"{where}: cannot be read as JSON: {TOO_DEEP}") from error
    except ValueError as error:
        raise DataError(f"{where}: cannot be read as JSON: {_reason(error)}") from error


def _refuse(word: str) -> None:
    raise ValueError(f"{word} is not a number in JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if number in (float("inf"), float("-inf")):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _reason(error: ValueError) -> str:
    """Without Python's advice about its own limits."""
    return (str(error).splitlines() or ["not JSON"])[0].partition(";")[0]


def read_json(path: Path) -> Any:
    """The value of a JSON file; FileNotFoundError if there is none."""
    return parse_json(read_bytes(path), where=path)


def require_regular(path: Path) -> None:
    """Refuse a pipe, which could let one wait for ever, a device and a folder."""
    if path.exists() and not path.is_file():
        what = "a folder" if path.is_dir() else "a pipe or a device"
        raise DataError(f"{path}: is {what}; expected a file")


def read_bytes(path: Path) -> bytes:
    """The content of a regular file; FileNotFoundError if there is none."""
    require_regular(path)
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def read_toml(path: Path, what: str) -> dict[str, Any]:
    """The values of a TOML file, unchecked; errors name it and what it should be."""
    try:
        text = read_bytes(path).decode()
        if any(line.count(".") > MOST_DOTS for line in text.splitlines()):
            raise RecursionError
        return tomllib.loads(text)
    except FileNotFoundError as error:
        raise CltrError(f"{path}: cannot read {what}: {error.strerror}") from error
    except RecursionError as error:
        raise OptionError(f"{path}: not TOML: {TOO_DEEP}") from error
    except ValueError as error:  # not TOML, not UTF-8, or a number with thousands of digits
        raise OptionError(f"{path}: not TOML: {_reason(error)}") from error


class Schema(BaseModel):
    """What a JSON object must hold: a subclass names its keys, as fields.

    Types are strict, numbers are finite, and a field with a default may be missing. Keys that are
    not named are let through, so that files of later versions still open.

    Example:
        >>> class Counts(Schema):
        ...     queries: int
        >>> Counts.check({"queries": "many"}, where="counts.json")
        Traceback (most recent call last):
        cltr.errors.DataError: counts.json: 'queries' is 'many': input should be a valid integer...
    """

    model_config = ConfigDict(extra="allow", strict=True, allow_inf_nan=False)

    @classmethod
    def check(cls, value: Any, *, where: Path | str) -> Any:
        """The value itself, or one line that says what is wrong with it."""
        if not isinstance(value, dict):
            raise DataError(f"{where}: is {_short(value)}; expected a JSON object")
        try:
            cls.model_validate(value)
        except ValidationError as error:
            raise DataError(f"{where}: {_explain(error)}") from error
        except RecursionError as error:
            raise DataError(f"{where}: {TOO_DEEP}") from error
        return value


def _explain(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    key = ".".join(map(str, first["loc"])) or "the value"
    if first["type"] == "missing":
        return f"'{key}' is missing; restore the file, or make it again"
    message = first["msg"].removeprefix("Value error, ")
    if first["type"] == "value_error":  # of several values together
        return message
    return f"'{key}' is {_short(first['input'])}: {message[:1].lower()}{message[1:]}"


def _short(value: Any) -> str:
    try:
        text = repr(value)
    except (RecursionError, ValueError):  # a number may be too long to be written
        text = type(value).__name__
    return text if len(text) <= 60 else f"{text[:57]}..."
