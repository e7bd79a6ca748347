"""The column ``part`` of a table: which part of the log a row is for, as exports of logs say it.

Interactions that were for testing stay so when an exported log comes back.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cltr.files.table_files import columns_of, quoted, select_files
from cltr.interfaces import LogReader
from cltr.logs.readers import LongReader
from cltr.logs.splitting import PART, Split
from cltr.types import LOG_PARTS

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

KEPT = (
    f"column '{PART}' of the table says which interactions are for training, validation and test; "
    "--split-by interaction splits them anew"
)
UNUSED = f"column '{PART}' of the table was not used; the options say how to split"


def reading_part(connection: "Connection", reader: LogReader, paths: Sequence[Path]) -> LogReader:
    """The reader; it reads the column ``part`` too if the table has one without another role."""
    if type(reader) is not LongReader or not paths:
        return reader
    given = reader.options.model_dump()
    context = dict.fromkeys((*given.pop("context_columns"), PART))
    roles = [(names,) if isinstance(names, str) else names for names in given.values()]
    taken = any(isinstance(names, tuple) and PART in names for names in roles)
    if taken or PART not in columns_of(connection, select_files(connection, paths)):
        return reader
    return LongReader(**given, context_columns=tuple(context))


def settle_parts(
    connection: "Connection", columns: Mapping[str, str], split: Split, *, keep: bool
) -> tuple[Split, tuple[str, ...]]:
    """How ``raw`` is split, by its column ``part`` if that names parts; and what to say of it.

    Args:
        connection: that has ``raw``.
        columns: of ``raw``.
        split: how the options split it.
        keep: whether nobody asked for another split.
    """
    if PART not in columns or not _names_parts(connection):
        return split, ()
    if not keep or split != Split(seed=split.seed):
        return split, (UNUSED,)
    return replace(split, by="part", test_share=0.0), (KEPT,)


def _names_parts(connection: "Connection") -> bool:
    """Whether each row of ``raw`` names a part of a log, and some are for validation."""
    listed = ", ".join(f"'{part}'" for part in LOG_PARTS)
    known, parts = connection.execute(
        f"SELECT bool_and(coalesce({quoted(PART)}::VARCHAR IN ({listed}), false)), "
        f"list(DISTINCT {quoted(PART)}::VARCHAR) FROM raw"
    ).fetchall()[0]
    return bool(known) and {"train", "valid"} <= set(parts)
