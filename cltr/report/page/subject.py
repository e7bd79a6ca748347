"""What a page is about: a run, an evaluation, a gate, a canary, several candidates, or a study."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, TypeAlias

from cltr.errors import DataError, UsageError
from cltr.experiment.changes_file import CHANGES
from cltr.experiment.run_folder import RunFolder
from cltr.files.storage import is_hdf5

Kind: TypeAlias = Literal["run", "evaluation", "gate", "canary", "candidates", "study"]
SUMMARY = "summary.json"
"""The file of a study."""
PAGE = "report.html"
"""The page of a run or a study, in its folder."""
EXPECTED = "give a run folder, or a file that 'cltr gate' or 'cltr evaluate' wrote with --out"
MOST_BYTES = 50_000_000
"""A result is far smaller."""


@dataclass(frozen=True)
class Subject:
    """A result with all that its page shows."""

    kind: Kind
    name: str
    """What it is called: a folder, a file, or the candidate."""
    result: Mapping[str, Any]
    """As ``--json`` prints it."""
    changes: Mapping[str, Any] | None = None
    """What changes for users, query by query; None if it was not kept."""
    history: Sequence[Mapping[str, Any]] = ()
    """The course of training."""
    config: Mapping[str, Any] = field(default_factory=dict)
    """The run file."""

    @property
    def judged(self) -> Mapping[str, Any]:
        """The result that has estimates and checks: of a canary, that of its gate."""
        return self.result["gate"] if self.kind == "canary" else self.result


def open_subject(path: Path) -> tuple[Subject, Path]:
    """What lies at a path, and where its page belongs by default.

    Args:
        path: a run folder, the folder of a study, or a file that ``evaluate`` or ``gate`` wrote
            with ``--out``.
    """
    if (path / "run.toml").is_file():
        return run_subject(path), path / PAGE
    if (path / SUMMARY).is_file():
        return Subject("study", str(path), _read(path / SUMMARY)), path / PAGE
    if path.is_file():
        return _saved(path), path.with_suffix(".html")
    if path.is_dir():
        raise UsageError(f"{path}: is neither a run (run.toml) nor a study ({SUMMARY})")
    raise UsageError(f"{path}: no such run, study or result file")


def run_subject(path: Path, result: Mapping[str, Any] | None = None) -> Subject:
    """A finished run.

    Args:
        path: its folder.
        result: if it is at hand already.
    """
    folder = RunFolder.open(path)
    found = folder.read_json("result.json") if result is None else result
    changes = folder.read_json(CHANGES) if (path / CHANGES).is_file() else None
    history = folder.read_json("history.json") if (path / "history.json").is_file() else []
    _expect(found, path / "result.json", ("metrics", "certificate", "top_k"))
    try:
        config = tomllib.loads(folder.config_file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{folder.config_file}: cannot be read: {error}") from error
    return Subject("run", str(path), found, changes, history, config)


KEYS: dict[Kind, tuple[str, ...]] = {
    "canary": ("gate", "decision", "reasons"),
    "gate": ("verdict", "estimates", "support"),
    "candidates": ("candidates", "references"),
    "evaluation": ("metrics", "certificate", "top_k"),
    "study": ("cells", "measure", "interactions"),
}
"""What tells saved results apart, the most telling one first."""


def _saved(path: Path) -> Subject:
    result = _read(path)
    for kind, keys in KEYS.items():
        if all(key in result for key in keys):
            changes = result.pop("changes", None)
            name = result.get("candidate", result.get("run", str(path)))
            if kind == "canary":
                changes, name = result["gate"].pop("changes", None), result["gate"]["candidate"]
            return Subject(kind, str(name), result, changes)
    raise DataError(f"{path}: is not a result; {EXPECTED}")


def _read(path: Path) -> dict[str, Any]:
    if is_hdf5(path):
        raise DataError(f"{path}: is a log or a data set (HDF5), not a result; {EXPECTED}")
    try:
        if path.stat().st_size > MOST_BYTES:
            raise DataError(f"{path}: is larger than any result")
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise DataError(f"{path}: cannot be read as JSON ({error}); {EXPECTED}") from error
    if not isinstance(found, dict):
        raise DataError(f"{path}: is not a result, which is a JSON object; {EXPECTED}")
    return found


def _expect(found: Any, path: Path, keys: Sequence[str]) -> None:
    if not isinstance(found, Mapping) or not all(key in found for key in keys):
        raise DataError(f"{path}: is not the result of a run: it must have {', '.join(keys)}")
