"""Which columns of a table are query, document, label, split and features."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal

from pydantic import Field

from cltr.errors import DataError, UsageError
from cltr.files.table_columns import TableColumns
from cltr.files.table_files import quoted
from cltr.options import Options, did_you_mean

ROW = "cltr row"
"""Column of the table ``raw``: the number of the row, rising as rows come."""
NUMBERS = (
    "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT", "UINTEGER",
    "UBIGINT", "UHUGEINT", "FLOAT", "DOUBLE", "BOOLEAN",
)  # fmt: skip
"""Types that are numbers as they are; decimals beside them."""
_OF_A_LOG = ("click", "position", "session")
_MOST_NAMES = 10


class TableOptions(Options):
    """How a table is read. Columns that are not named are found by their common names."""

    query_column: str = Field("", description="column of the query or its id.")
    document_column: str = Field(
        "",
        description=("column of the document's id; 'none' to use its place in the list, from 0."),
    )
    label_column: str = Field(
        "", description=("column of the relevance grade; 'none' if there are no judgements.")
    )
    split_column: str = Field(
        "",
        description=(
            "column with train, valid or test; 'none' to split queries by a hash of their id."
        ),
    )
    feature_columns: tuple[str, ...] = Field(
        (), description="patterns of features, such as 'bm25*'; all other columns if empty."
    )
    leave_out: tuple[str, ...] = Field((), description="patterns of columns to leave out.")
    qrels: str = Field("", description="a TREC file with judgements, in place of a label column.")
    missing: Literal["refuse", "zero", "mean"] = Field(
        "refuse", description="what to do about missing features."
    )


@dataclass(frozen=True)
class FeatureColumns:
    """The columns of a table by what they mean."""

    types: Mapping[str, str]
    """Of all columns, by name."""
    query: str
    document: str | None
    """None where a document is known by its place."""
    label: str | None
    split: str | None
    features: tuple[str, ...]
    named: bool = False
    """Whether somebody chose the features by name."""

    def number(self, name: str) -> str:
        """SQL of a column as a number: NULL where it is missing or is none.

        Text is read as the nearest 64-bit number. All numbers are then rounded to 32 bits.
        """
        if self.types[name] in ("FLOAT", "DOUBLE"):
            return quoted(name)
        if _is_number(self.types[name]):
            return f"{quoted(name)}::DOUBLE"
        text = f"{quoted(name)}::VARCHAR"
        truth = f"CASE lower({text}) WHEN 'true' THEN 1.0 WHEN 'false' THEN 0.0 END"
        return f"coalesce(try_cast({text} AS DOUBLE), {truth})"

    @property
    def texts(self) -> list[str]:
        """Features and label whose type is text, so that some value may be no number."""
        chosen = [*self.features, *([self.label] if self.label else [])]
        return [name for name in chosen if not _is_number(self.types[name])]


def choose_columns(
    types: Mapping[str, str], options: TableOptions, *, where: str
) -> FeatureColumns:
    """Find the columns of a table, or say in one line what is missing.

    Args:
        types: of the columns, by name, in the words of duckdb.
        options: what was named.
        where: the file, for messages.
    """
    known = {name: kind for name, kind in types.items() if name != ROW}
    columns = TableColumns(known, options, where=where)
    query = columns.find("query")
    document = columns.find("document", required=False)
    roles = {role: _optional(columns, options, role, where) for role in ("label", "split")}
    taken = [query, document, *roles.values()]
    if options.qrels:
        if options.label_column:
            raise UsageError("--qrels and --label-column contradict each other; leave one out")
        if document is None:
            raise UsageError("--qrels needs to know documents; name them with --document-column")
        roles["label"] = None  # it is no feature either
    rest = [name for name in known if name not in taken]
    features = _matching(rest, options.feature_columns, "--feature-column", where) or rest
    left_out = _matching(rest, options.leave_out, "--leave-out", where)
    features = [name for name in features if name not in left_out]
    if not options.feature_columns:
        _refuse_logs(columns, features, where)
    if not features:
        raise DataError(f"{where}: no column is left for features; it has {', '.join(known)}")
    _refuse_types(known, features, where, leave_out=not options.feature_columns)
    return FeatureColumns(
        known,
        query or "",
        document,
        **roles,
        features=tuple(features),
        named=bool(options.feature_columns),
    )


def _optional(columns: TableColumns, options: TableOptions, role: str, where: str) -> str | None:
    if getattr(options, f"{role}_column") or columns.known(role):
        return columns.find(role, required=False)
    return None


def _matching(names: list[str], patterns: Sequence[str], flag: str, where: str) -> list[str]:
    """Columns that match a pattern, in their own order; every pattern must match one."""
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in names):
            raise DataError(
                f"{where}: no column matches '{pattern}' ({flag}); there are {shown(names)}"
                + did_you_mean(pattern, names)
            )
    return [name for name in names if any(fnmatchcase(name, p) for p in patterns)]


def _refuse_logs(columns: TableColumns, features: list[str], where: str) -> None:
    """Clicks among the features would tell what is to be learned."""
    found = [name for role in _OF_A_LOG for name in columns.known(role) if name in features]
    if found:
        raise DataError(
            f"{where}: {shown(found)} would become features, but the table looks like a click log; "
            "name the features (--feature-column 'bm25*'), leave these columns out (--leave-out), "
            "or import the log with cltr ingest --feature-column"
        )


def _refuse_types(
    types: Mapping[str, str], features: list[str], where: str, *, leave_out: bool
) -> None:
    wrong = [name for name in features if not (_is_number(types[name]) or _is_text(types[name]))]
    if wrong:
        described = [f"{name} ({types[name].split('(')[0].lower()})" for name in wrong]
        raise DataError(
            f"{where}: features must be numbers, but {shown(described)} "
            f"{'is' if len(wrong) == 1 else 'are'} not; turn times into ages and lists into a "
            f"column for each value{', or leave them out (--leave-out)' if leave_out else ''}"
        )


def _is_number(kind: str) -> bool:
    return kind in NUMBERS or kind.startswith("DECIMAL")


def _is_text(kind: str) -> bool:
    return kind in ("VARCHAR", '"NULL"') or kind.startswith("ENUM")  # NULL: all are missing


def shown(names: Sequence[str]) -> str:
    """Names in a message, the first few of many.

    Example:
        >>> shown(["a", "b"])
        "'a', 'b'"
    """
    listed = ", ".join(f"'{name}'" for name in names[:_MOST_NAMES])
    return listed if len(names) <= _MOST_NAMES else f"{listed} and {len(names) - _MOST_NAMES} more"


def numbered(n_features: int) -> list[str]:
    """What features without names are called: their numbers from 1, as in SVMlight.

    Example:
        >>> numbered(2)
        ['feature 1', 'feature 2']
    """
    return [f"feature {number + 1}" for number in range(n_features)]
