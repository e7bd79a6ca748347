"""Read SVMlight and LETOR files, block by block: ``label qid:Q 1:v 2:v ... # docid = D``.

Feature numbers start at 1 and rise along a line; those left out are 0. Blank lines, comments,
Windows line ends and gzip are fine. The id of a document is what follows ``docid =`` in the
comment, or the comment's first word. Files without ``qid`` need LightGBM's sidecar ``FILE.query``,
which holds the length of each list. Whatever cannot be read is one line that names file and line.
"""

import math
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from cltr.data.text_lines import whole_lines
from cltr.errors import DataError
from cltr.types import Floats

MOST_FEATURES = 100_000
"""Highest feature number, unless told otherwise: a data set stores all features of a row."""
EXPECTED = "expected 'label qid:Q 1:value 2:value ... # id'"


class Query(NamedTuple):
    """Where a query's list begins."""

    row: int
    """Counted from the first row of the block."""
    line: int
    """Counted from 1 in the file; of the sidecar, where there is one."""
    id: str | None
    """None if the file has no query ids but a sidecar."""


class Rows(NamedTuple):
    """Consecutive documents of a file, sparse: what is not stored is 0.

    A query whose first row is not in the block has begun in an earlier one.
    """

    labels: Floats
    """Grades, ``[rows]``."""
    counts: NDArray[np.int32]
    """How many values each row has, ``[rows]``."""
    columns: NDArray[np.int32]
    """Number of the feature, from 0, ``[values]``."""
    values: NDArray[np.float32]
    """``[values]``"""
    id_lengths: NDArray[np.int32]
    """Bytes of each document's id, 0 if it has none, ``[rows]``."""
    id_bytes: NDArray[np.uint8]
    """All ids, end to end, in UTF-8."""
    queries: list[Query]
    n_features: int
    """Highest feature number in the block."""
    n_missing: int
    """Features that were too large for 32 bits and count as missing."""


def read_svmlight(
    path: Path,
    *,
    most_features: int = MOST_FEATURES,
    huge_is_missing: bool = False,
    progress: Callable[[int], None] = lambda position: None,
) -> Iterator[Rows]:
    """Yield a file's documents in blocks of bounded size.

    Args:
        path: a text file, or one compressed by gzip.
        most_features: the highest feature number to accept.
        huge_is_missing: read a feature too large for 32 bits as missing (Istella's 1.8e308)
            instead of refusing it.
        progress: called with the place in the file, in bytes, after each block.
    """
    reader = _Reader(path, most_features=most_features, huge_is_missing=huge_is_missing)
    for text in whole_lines(path, progress=progress):
        rows = reader.parse(text)
        if len(rows.labels):
            yield rows
    reader.finish()


class _Reader:
    """Parses blocks of one file in order; knows what earlier blocks have shown."""

    def __init__(self, path: Path, *, most_features: int, huge_is_missing: bool) -> None:
        from cltr.kernels import svmlight, svmlight_rows

        self.kernel = svmlight
        self.count = svmlight_rows.count
        self.gather = svmlight_rows.gather
        self.path = path
        self.most_features = most_features
        self.huge_is_missing = huge_is_missing
        self.kind = svmlight.UNKNOWN
        self.lines = 0
        self.rows = 0
        self.sidecar: _Sidecar | None = None

    def parse(self, text: NDArray[np.uint8]) -> Rows:
        lines, colons = self.count(text)
        labels, counts = np.empty(lines), np.empty(lines, np.int32)
        columns, values = np.empty(colons, np.int32), np.empty(colons, np.float32)
        spans, queries = np.empty((lines, 2), np.int32), np.empty((lines, 4), np.int32)
        unread = np.empty((lines + colons, 2), np.int32)
        code, place, self.kind, n_features, *sizes = self.kernel.parse(
            text, self.kind, self.most_features, self.huge_is_missing,
            labels, counts, columns, values, spans, queries, unread,
        )  # fmt: skip
        n_rows, n_values, n_queries, n_unread, n_missing = sizes
        if self.kind == self.kernel.WITHOUT_QUERIES and self.sidecar is None:
            self.sidecar = _Sidecar.beside(self.path)
        n_missing += self._read_the_rest(text, unread[:n_unread], labels, values)
        if code != self.kernel.OK:
            raise self._error(text, place, *self._explain(code, _token(text, place)))
        id_bytes = np.empty(int((spans[:n_rows, 1] - spans[:n_rows, 0]).sum()), np.uint8)
        self.gather(text, spans[:n_rows], id_bytes)
        rows = Rows(
            labels[:n_rows],
            counts[:n_rows],
            columns[:n_values],
            values[:n_values],
            spans[:n_rows, 1] - spans[:n_rows, 0],
            id_bytes,
            self._queries(text, queries[:n_queries], n_rows),
            n_features,
            n_missing,
        )
        self.lines += lines
        self.rows += n_rows
        return rows

    def _read_the_rest(
        self, text: NDArray[np.uint8], unread: NDArray[Any], labels: Floats, values: NDArray[Any]
    ) -> int:
        """Numbers that the kernel could not be sure of; how many count as missing."""
        n_missing = 0
        for target, begin in unread.tolist():
            value = float(_token(text, begin))
            if target < 0:
                if math.isinf(value):
                    raise self._error(text, begin, f"label {value}", "expected a finite number")
                labels[-1 - target] = value
                continue
            with np.errstate(over="ignore"):
                values[target] = value
            if np.isinf(values[target]):
                if not self.huge_is_missing:
                    found, expected = self._explain(self.kernel.TOO_LARGE, _token(text, begin))
                    raise self._error(text, begin, found, expected)
                values[target] = 0.0
                n_missing += 1
        return n_missing

    def _queries(self, text: NDArray[np.uint8], found: NDArray[Any], n_rows: int) -> list[Query]:
        if self.sidecar is not None:
            return self.sidecar.between(self.rows, self.rows + n_rows)
        return [
            Query(row, self.lines + line + 1, _shown(text[begin:end].tobytes()))
            for row, line, begin, end in found.tolist()
        ]

    def finish(self) -> None:
        if self.rows == 0:
            what = "holds only comments" if self.lines else "is empty"
            raise DataError(f"{self.path}: the file {what}; {EXPECTED}")
        if self.sidecar is not None:
            self.sidecar.check_total(self.path, self.rows)

    def _error(self, text: NDArray[np.uint8], place: int, found: str, expected: str) -> DataError:
        line = self.lines + int(np.count_nonzero(text[:place] == 10)) + 1
        return DataError(f"{self.path}:{line}: {found}; {expected}")

    def _explain(self, code: int, token: str) -> tuple[str, str]:
        """What was found, and what was expected."""
        kernel = self.kernel
        word = repr(token if len(token) <= 40 else f"{token[:40]}...")
        infinite = re.fullmatch(r"[+-]?(nan|inf|infinity)", token.rpartition(":")[2], re.IGNORECASE)
        return {
            kernel.BAD_LABEL: (f"label {word}", "expected a number, 0 or more"),
            kernel.NEGATIVE_LABEL: (f"label {word} is negative", "expected 0 or more"),
            kernel.MISSING_QUERY: (f"found {word} in place of 'qid:'", EXPECTED),
            kernel.BAD_QUERY: (f"query id {word}", "expected 'qid:' and a printable word"),
            kernel.UNEXPECTED_QUERY: (
                f"found {word}, but earlier lines have no qid",
                "expected it on every line or on none",
            ),
            kernel.BAD_PAIR: (f"found {word}", "expected 'number:value', as in '3:0.25'"),
            kernel.NUMBER_TOO_LOW: (f"feature {word}", "expected numbers from 1"),
            kernel.NUMBER_TOO_HIGH: (
                f"feature {word}",
                f"expected numbers up to {self.most_features}; raise most_features if it is right",
            ),
            kernel.NOT_ASCENDING: (
                f"feature {word} does not follow on the one before it",
                "expected rising numbers, each once",
            ),
            kernel.BAD_VALUE: (
                f"feature {word} is not finite" if infinite else f"feature {word}",
                "expected 'number:value' with a finite decimal number",
            ),
            kernel.TOO_LARGE: (f"feature {word} is too large", "expected at most 3.4e38"),
        }[code]


def _token(text: NDArray[np.uint8], begin: int) -> str:
    word = re.compile(rb"[^ \t\r\n#]*").match(text, begin)  # type: ignore[call-overload]
    return _shown(word.group())


def _shown(word: bytes) -> str:
    """As text; bytes that are none are shown as escapes."""
    return word.decode("utf-8", errors="backslashreplace")


class _Sidecar:
    """LightGBM's ``FILE.query``: the length of each list, one a line."""

    def __init__(self, path: Path, lengths: list[int], lines: list[int]) -> None:
        self.path = path
        self.ends = np.cumsum(lengths)
        self.starts = self.ends - lengths
        self.lines = lines

    @classmethod
    def beside(cls, path: Path) -> "_Sidecar":
        names = [Path(f"{path}.query"), Path(f"{path.with_suffix('')}.query")]
        names = names if path.suffix == ".gz" else names[:1]
        found = next((name for name in names if name.is_file()), None)
        if found is None:
            raise DataError(
                f"{path}: the lines have no qid, and there is no '{names[-1].name}' with the "
                f"lengths of the lists; {EXPECTED}"
            )
        lengths, lines = [], []
        for line, text in enumerate(found.read_bytes().splitlines(), start=1):
            word = text.strip()
            if word and not (word.isdigit() and len(word) < 16 and int(word)):
                shown = _shown(word[:40])
                raise DataError(f"{found}:{line}: found {shown!r}; expected a length, 1 or more")
            if word:
                lengths.append(int(word))
                lines.append(line)
        return cls(found, lengths, lines)

    def between(self, first: int, last: int) -> list[Query]:
        """The lists that begin in rows ``first`` to ``last - 1`` of the file."""
        begin, end = np.searchsorted(self.starts, [first, last])
        return [Query(int(self.starts[k]) - first, self.lines[k], None) for k in range(begin, end)]

    def check_total(self, path: Path, n_rows: int) -> None:
        total = int(self.ends[-1]) if len(self.ends) else 0
        if total != n_rows:
            raise DataError(
                f"{self.path}: the lists add up to {total} documents; expected the {n_rows} "
                f"of {path.name}"
            )
