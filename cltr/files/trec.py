"""TREC's two text formats, plain or compressed by gzip.

A run has lines ``query Q0 document rank score tag``; qrels have lines ``query 0 document grade``.
Spaces or tabs stand between the fields. Reading is strict: a line that does not fit is an error
with its number. Ids cannot hold spaces, so writing refuses such ids.
"""

import gzip
import math
import re
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.files.json_files import require_regular
from cltr.files.storage import write_beside
from cltr.types import Floats, Integers

RUN_ENDINGS = (".trec", ".run")
"""How names of runs end, before ``.gz``."""
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_BLOCK = 100_000


class Pairs(NamedTuple):
    """A number for each query and document, in the order of the file."""

    queries: list[str]
    documents: list[str]
    values: list[float]

    def table(self, name: str) -> Any:
        """As an Arrow table with columns ``query``, ``document`` and ``name``."""
        import pyarrow

        return pyarrow.table(
            {
                "query": pyarrow.array(self.queries, pyarrow.string()),
                "document": pyarrow.array(self.documents, pyarrow.string()),
                name: pyarrow.array(self.values, pyarrow.float64()),
            }
        )


def is_run(path: Path) -> bool:
    """Whether a file is a TREC run, by how its name ends."""
    return path.name.lower().removesuffix(".gz").endswith(RUN_ENDINGS)


def read_run(path: Path) -> Pairs:
    """Scores of a run; ranks and the order of lines mean nothing, as in ``trec_eval``."""
    expected = "expected 'query Q0 document rank score tag'"
    return _read(path, fields=6, value=4, expected=expected, what="score")


def read_qrels(path: Path) -> Pairs:
    """Grades of judged documents; a negative grade (spam, junk) counts as 0."""
    expected = "expected 'query 0 document grade'"
    found = _read(path, fields=4, value=3, expected=expected, what="grade")
    return found._replace(values=[max(value, 0.0) for value in found.values])


def _read(path: Path, *, fields: int, value: int, expected: str, what: str) -> Pairs:
    pairs = Pairs([], [], [])
    lines: dict[tuple[str, str], int] = {}
    for number, line in _lines(path):
        words = line.split()
        if not words:
            continue
        if len(words) != fields:
            raise DataError(f"{path}:{number}: {len(words)} fields; {expected}")
        if not _NUMBER.fullmatch(words[value]) or math.isinf(float(words[value])):
            raise DataError(f"{path}:{number}: {what} {words[value][:40]!r}; {expected}")
        pair = words[0], words[2]
        if pair in lines:
            raise DataError(
                f"{path}:{number}: document '{pair[1]}' of query '{pair[0]}' appears again; it is "
                f"at line {lines[pair]} too"
            )
        lines[pair] = number
        pairs.queries.append(words[0])
        pairs.documents.append(words[2])
        pairs.values.append(float(words[value]))
    if not lines:
        raise DataError(f"{path}: the file is empty; {expected}")
    return pairs


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    opened = gzip.open if path.name.lower().endswith(".gz") else open
    number = 0
    require_regular(path)
    try:
        with cast(IO[bytes], opened(path, "rb")) as stream:
            for number, line in enumerate(stream, start=1):
                yield number, line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}:{number}: is not UTF-8 text") from error
    except (OSError, EOFError, zlib.error) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise DataError(f"{path}: cannot be read: {reason}") from error


def write_run(
    path: Path | str,
    query_ids: NDArray[Any],
    document_ids: NDArray[Any],
    offsets: Integers,
    scores: Floats,
    *,
    tag: str = "cltr",
    top_k: int | None = None,
) -> None:
    """Write rankings as a TREC run: each query's documents by falling score, ties as they come.

    Args:
        path: the file to write.
        query_ids: ``[queries]``.
        document_ids: ``[docs]``.
        offsets: where each query's documents lie, ``[queries + 1]``.
        scores: ``[docs]``; finite.
        tag: names the run; one word.
        top_k: documents of each query to write; all by default.
    """
    if not np.isfinite(scores).all():
        raise DataError(f"{path}: a score is not finite, so documents cannot be ranked")
    check_ids(path, [*query_ids.tolist(), *document_ids.tolist(), tag])
    owners = np.repeat(np.arange(len(query_ids)), np.diff(offsets))
    order = np.lexsort((-np.asarray(scores), owners))
    places = np.arange(len(order)) - np.repeat(offsets[:-1] - offsets[0], np.diff(offsets))
    kept = order if top_k is None else order[places < top_k]
    ranks = (places if top_k is None else places[places < top_k]) + 1
    with write_beside(path) as partial, partial.open("w", encoding="utf-8") as stream:
        for begin in range(0, len(kept), _BLOCK):
            rows = kept[begin : begin + _BLOCK]
            stream.writelines(
                f"{query} Q0 {document} {rank} {score!r} {tag}\n"
                for query, document, rank, score in zip(
                    query_ids[owners[rows]].tolist(),
                    document_ids[rows].tolist(),
                    ranks[begin : begin + _BLOCK].tolist(),
                    np.asarray(scores, np.float64)[rows].tolist(),
                    strict=True,
                )
            )


def write_qrels(
    path: Path | str,
    query_ids: NDArray[Any],
    document_ids: NDArray[Any],
    offsets: Integers,
    labels: Floats,
) -> None:
    """Write judgements as qrels; documents without one (NaN) are left out.

    Args:
        path: the file to write.
        query_ids: ``[queries]``.
        document_ids: ``[docs]``.
        offsets: where each query's documents lie, ``[queries + 1]``.
        labels: ``[docs]``.
    """
    check_ids(path, [*query_ids.tolist(), *document_ids.tolist()])
    owners = np.repeat(np.arange(len(query_ids)), np.diff(offsets))
    kept = np.flatnonzero(~np.isnan(labels))
    with write_beside(path) as partial, partial.open("w", encoding="utf-8") as stream:
        stream.writelines(
            f"{query} 0 {document} {int(grade) if grade.is_integer() else repr(grade)}\n"
            for query, document, grade in zip(
                query_ids[owners[kept]].tolist(),
                document_ids[kept].tolist(),
                np.asarray(labels)[kept].tolist(),
                strict=True,
            )
        )


def check_ids(path: Path | str, ids: Sequence[str]) -> None:
    """Refuse ids that the format cannot hold."""
    wrong = next((id for id in ids if not id or id.split() != [id]), None)
    if wrong is not None:
        raise DataError(
            f"{path}: TREC files cannot hold the id {wrong[:60]!r}, which is empty or has spaces; "
            "write another format, or use other ids"
        )
