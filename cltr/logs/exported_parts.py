"""The column ``part`` of a table: which part of the log a row is for, as exports of logs say it.

Interactions that were for testing stay so when an exported log comes back.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from cltr.errors import UsageError
from cltr.files.table_files import quoted
from cltr.interfaces import LogReader
from cltr.logs.readers import LongReader
from cltr.logs.splitting import PART, Split
from cltr.types import LOG_PARTS

KEPT = (
    f"column '{PART}' of the table says which interactions are for training, validation and test; "
    "--split-by interaction splits them anew"
)
UNUSED = f"column '{PART}' of the table was not used; the options say how to split"
NEEDED = (
    f"--split-by part needs a column '{PART}', as in an exported log: train, valid or test in "
    "every row, and both train and valid in some"
)


def reading_part(
    reader: LogReader, columns: Callable[[], Mapping[str, str]], split: Split
) -> LogReader:
    """The reader; it reads the column ``part`` too if the table has one without another role.

    Args:
        reader: that reads the table.
        columns: tells those of the table.
        split: how the options split it.
    """
    found = _reading_part(reader, columns)
    if found is reader and split.by == PART:
        raise UsageError(NEEDED)
    return found


def _reading_part(reader: LogReader, columns: Callable[[], Mapping[str, str]]) -> LogReader:
    if type(reader) is not LongReader or PART not in columns():
        return reader
    given = reader.options.model_dump()
    context = dict.fromkeys((*given.pop("context_columns"), PART))
    roles = [(names,) if isinstance(names, str) else names for names in given.values()]
    if any(isinstance(names, tuple) and PART in names for names in roles):
        return reader
    return LongReader(**given, context_columns=tuple(context))


def settle_parts(
    connection: Any, columns: Mapping[str, str], split: Split, *, keep: bool
) -> tuple[Split, tuple[str, ...]]:
    """How ``raw`` is split, by its column ``part`` if that names parts; and what to say of it.

    Args:
        connection: that has ``raw``, of duckdb or of another engine.
        columns: of ``raw``.
        split: how the options split it.
        keep: whether nobody asked for another split.
    """
    named = PART in columns and names_parts(_found(connection))
    if split.by == PART:
        if not named:
            raise UsageError(NEEDED)
        return split, ()
    if not named:
        return split, ()
    if not keep or split != Split(seed=split.seed):
        return split, (UNUSED,)
    return replace(split, by=PART), (KEPT,)


def names_parts(found: set[str | None]) -> bool:
    """Whether what a column holds are parts of a log, validation among them.

    Example:
        >>> names_parts({"train", "valid"}), names_parts({"train", "valid", None})
        (True, False)
    """
    return {"train", "valid"} <= found <= set(LOG_PARTS)


def _found(connection: Any) -> set[str | None]:
    """Different values of the column; of many, enough to see that they are no parts."""
    different = f"SELECT DISTINCT {quoted(PART)}::VARCHAR AS {quoted(PART)} FROM raw"
    few = f"{different} LIMIT {len(LOG_PARTS) + 1}"
    return {value for (value,) in connection.execute(few).fetchall()}
