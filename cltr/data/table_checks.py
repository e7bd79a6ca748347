"""What is wrong with a table of features, in one line each, with the place."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from cltr.data.feature_columns import FeatureColumns, shown
from cltr.errors import DataError
from cltr.files.table_files import quoted

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

LONGEST_ID = 1000
"""Characters of an id, at most: all ids take as much space as the longest."""
_LARGEST = float(np.finfo(np.float32).max)
_TOO_LARGE = "expected at most 3.4e38; correct these values, or leave the column out"


@dataclass(frozen=True)
class TableChecks:
    """Looks at the table ``raw`` of a connection, its view ``rows`` and its queries ``found``."""

    connection: "Connection"
    columns: FeatureColumns
    where: str
    """The file, for messages."""

    def refuse_text(self) -> None:
        """Refuse columns with text that is no number, all of them in one line."""
        texts = self.columns.texts
        if not texts:
            return
        wrong = [f"{quoted(n)} IS NOT NULL AND {self.columns.number(n)} IS NULL" for n in texts]
        wrong = [
            f"({w}) AND trim({quoted(n)}::VARCHAR) <> ''" for w, n in zip(wrong, texts, strict=True)
        ]
        found = [
            f"min({quoted(name)}::VARCHAR) FILTER ({condition})"
            for name, condition in zip(texts, wrong, strict=True)
        ]
        values = self._one(f"SELECT {', '.join(found)} FROM raw")
        bad = {n: value for n, value in zip(texts, values, strict=True) if value is not None}
        if not bad:
            return
        name = next(iter(bad))
        leave = "" if self.columns.named else ", or leave them out (--leave-out)"
        raise DataError(
            f"{self.where}: features and labels must be numbers, but {shown(list(bad))} "
            f"{'holds' if len(bad) == 1 else 'hold'} text, such as '{bad[name][:40]}' in '{name}'; "
            f"encode categories as numbers (one column of 0 and 1 for each){leave}"
        )

    def check_ids(self) -> tuple[int, int]:
        """Every row has a query and a document that can be stored."""
        n_rows, no_query, no_document, *widths, nul = self._one(
            "SELECT count(*), count(*) - count(query), count(*) - count(document), "
            "coalesce(max(length(query)), 0), coalesce(max(length(document)), 0), "
            "coalesce(bool_or(contains(query, chr(0)) OR contains(document, chr(0))), false) "
            "FROM rows"
        )
        if n_rows == 0:
            raise DataError(f"{self.where}: has no rows")
        for missing, role in ((no_query, "query"), (no_document, "document")):
            if missing:
                row = self._place(f"{role} IS NULL")
                raise DataError(
                    f"{self.where}: {missing:,} of {n_rows:,} rows have no {role}, {row}; fill the "
                    f"column, name another one (--{role}-column), or leave these rows out"
                )
        if nul:
            raise DataError(f"{self.where}: an id contains the character NUL; ids must not")
        if max(widths) > LONGEST_ID:
            raise DataError(
                f"{self.where}: an id has {max(widths):,} characters; expected at most "
                f"{LONGEST_ID:,}; use a shorter id"
            )
        return n_rows, max(widths[1], 1)

    def check_labels(self) -> None:
        if self.columns.label is None:
            return
        wrong = self._one(
            "SELECT query, document, label FROM rows WHERE label < 0 OR isinf(label) LIMIT 1"
        )
        if wrong:
            query, document, label = wrong
            raise DataError(
                f"{self.where}: label {label:g} of query '{query}', document '{document}'; "
                "expected 0 or more"
            )

    def check_splits(self) -> None:
        wrong = self._one(
            "SELECT query, split, other, told < n FROM found "
            "WHERE split <> other OR told < n OR split IS NULL LIMIT 1"
        )
        if wrong:
            query, split, other, missing = wrong
            what = "has rows without a split" if missing else f"is in '{split}' and in '{other}'"
            raise DataError(
                f"{self.where}: query '{query}' {what} (column '{self.columns.split}'); expected "
                "all documents of a query in one split"
            )

    def check_pairs(self) -> None:
        """Refuse a document that comes twice for a query; hashes decide where none does."""
        n_rows, distinct = self._one(
            "SELECT sum(n), count(*) FROM "
            "(SELECT hash(query, document) AS pair, count(*) AS n FROM rows GROUP BY pair)"
        )
        if distinct == n_rows:
            return
        twice = self._one(
            "SELECT query, document, count(*), min(row), max(row) FROM rows "
            "GROUP BY query, document HAVING count(*) > 1 ORDER BY min(row) LIMIT 1"
        )
        if twice:
            query, document, n, *_ = twice
            raise DataError(
                f"{self.where}: document '{document}' comes {n} times for query '{query}'; "
                "expected one row for each query and document; keep one of them"
            )

    def refuse_values(self) -> NoReturn:
        """Say which features are missing or infinite: all columns, and the first place."""
        counts = self._one(
            "SELECT "
            + ", ".join(
                f"count(*) FILTER ({_missing(i)}), count(*) FILTER ({_infinite(i)})"
                for i in range(len(self.columns.features))
            )
            + ", count(*) FROM rows"
        )
        names, n_rows = self.columns.features, counts[-1]
        infinite = [i for i in range(len(names)) if counts[2 * i + 1]]
        wrong = infinite or [i for i in range(len(names)) if counts[2 * i]]
        first = wrong[0]
        condition, what, advice = (
            (_infinite(first), "infinite or too large for 32 bits", _TOO_LARGE)
            if infinite
            else (
                _missing(first),
                "missing",
                "fill them in, or say --missing zero to take them as 0",
            )
        )
        n = counts[2 * first + bool(infinite)]
        others = [names[i] for i in wrong[1:]]
        more = f"; so are values of {shown(others)}" if others else ""
        raise DataError(
            f"{self.where}: {n:,} of {n_rows:,} values of feature '{names[first]}' are "
            f"{what}, {self._place(condition)}{more}; {advice}"
        )

    def _place(self, condition: str) -> str:
        found = self._one(
            f"SELECT query, document FROM rows WHERE {condition} ORDER BY row LIMIT 1"
        )
        if not found:  # a damaged file may be read in another way each time
            return "somewhere in the file"
        query, document = found
        named = [f"{k} '{v}'" for k, v in (("query", query), ("document", document)) if v]
        return f"the first of {', '.join(named)}" if named else "and no document either"

    def _one(self, sql: str) -> tuple[Any, ...]:
        found = self.connection.execute(sql).fetchall()
        return found[0] if found else ()


def _missing(number: int) -> str:
    return f"f{number} IS NULL OR isnan(f{number})"


def _infinite(number: int) -> str:
    return f"abs(f{number}) > {_LARGEST!r}::DOUBLE AND NOT isnan(f{number})"
