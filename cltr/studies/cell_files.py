"""The file of each cell of a study: written whole, checked when it is read."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

from cltr.errors import DataError
from cltr.files.claims import TakenError, claim
from cltr.files.json_files import read_json
from cltr.files.storage import finite, write_beside
from cltr.studies.study import PRODUCTION

CELLS = "cells"
_MEASURE = f"{PRODUCTION}_ndcg@"


def cell_file(folder: Path, key: str) -> Path:
    """Where the numbers of a cell are kept."""
    return folder / CELLS / f"{key}.json"


def write_row(folder: Path, key: str, row: dict[str, Any]) -> None:
    """A cell's numbers, whole or not at all."""
    with write_beside(cell_file(folder, key), wait=True) as temporary:
        temporary.write_text(json.dumps(finite(row), allow_nan=False) + "\n", encoding="utf-8")


def read_row(folder: Path, key: str) -> dict[str, Any] | None:
    """A cell's numbers; None if it is not computed, an error if the file is something else."""
    path = cell_file(folder, key)
    try:
        row = read_json(path)
    except FileNotFoundError:
        return None
    except DataError as error:
        raise DataError(f"{error}; remove it to compute it again") from error
    if not isinstance(row, dict) or not _is_cell(row):
        raise DataError(f"{path}: not a cell of a study; remove it to compute it again")
    return row


def forget_failed(folder: Path, keys: list[str]) -> None:
    """Failed cells are tried again, unless another process is at one just now."""
    for key in keys:
        if not cell_file(folder, key).exists():
            continue
        with suppress(TakenError), claim(cell_file(folder, key)):
            row = read_row(folder, key)
            if row is not None and row["status"] != "done":
                cell_file(folder, key).unlink(missing_ok=True)


def _is_cell(row: dict[str, Any]) -> bool:
    """Whether it says how it ended, and has numbers where it is done."""
    if row.get("status") != "done":
        return isinstance(row.get("status"), str)
    numbers = [value for key, value in row.items() if key != "status"]
    names = [key.removeprefix(f"{PRODUCTION}_") for key in row if key.startswith(_MEASURE)]
    judged = bool(names) and all(
        _is_number(row.get(key)) for name in names for key in (name, f"{PRODUCTION}_{name}")
    )
    plain = all(key.isascii() and key.isprintable() for key in row)
    return judged and plain and all(value is None or _is_number(value) for value in numbers)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300
