"""A run's folder: its run file, its weights, its checkpoint, its result.

Every file is written beside and renamed; ``result.json`` comes last, so a folder with one is whole.
"""

import json
import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np

from cltr.documents import State
from cltr.errors import CltrError, DataError
from cltr.experiment.checkpoint import Checkpoint
from cltr.experiment.run_schema import read_checked
from cltr.files.arrays import finite_array, read_arrays, write_arrays
from cltr.files.claims import claim, remove_leftovers, reserve
from cltr.files.storage import finite as finite  # noqa: PLC0414  # many ask for it here
from cltr.files.storage import write_beside
from cltr.interfaces import Model
from cltr.types import Floats

TAKEN = "the folder holds a run already; use --resume to continue it, or another --out"
BUSY = "another process is training there; wait for it, or use another --out"
_AXES = {"rank_distribution": 2}
"""Axes of what is kept of production, where it is not one number a document."""


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path, *, made: Iterable[Path] = ()) -> None:
        self.path = path
        self._made = [*made]  # folders that came with the run, the innermost first
        self._written: set[Path] = set()
        self._held = ExitStack()
        self.checkpoint = Checkpoint(path / "checkpoint")

    @classmethod
    def create(cls, out: Path | None, *, label: str) -> "RunFolder":
        """A new folder: ``out``, or the next ``runs/NNN-label``."""
        if out is not None and (out / "run.toml").exists():
            raise CltrError(f"{out}: {TAKEN}")
        made = [] if out is None else _missing(out)
        path = _numbered(Path("runs"), label, made) if out is None else out
        _make(path)
        folder = cls(path, made=made)
        folder.hold()
        if (path / "run.toml").exists():  # another process was faster, and has finished
            folder.close()
            raise CltrError(f"{path}: {TAKEN}")
        return folder

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """An existing run."""
        if not path.exists():
            raise CltrError(f"{path}: no such folder; give a run folder that 'cltr train' wrote")
        if path.is_file():
            raise CltrError(f"{path}: is a file; give a run folder that 'cltr train' wrote")
        if not (path / "run.toml").is_file():
            raise CltrError(f"{path}: not a run folder: it has no run.toml")
        return cls(path)

    def hold(self) -> None:
        """Let no other process train in the folder until :meth:`close`, or the process ends."""
        remove_leftovers(self.path)
        self._held.enter_context(reserve(self.path / "run", busy=BUSY))

    def close(self) -> None:
        """Let others use the folder."""
        self._held.close()

    @property
    def config_file(self) -> Path:
        return self.path / "run.toml"

    def discard(self) -> None:
        """Remove what this run has written, and the folders it made if nothing else is in them."""
        for path in self._written:
            path.unlink(missing_ok=True)
        self.close()
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()

    def write_text(self, name: str, text: str) -> None:
        """Write a small file whole or not at all."""
        with self.writing(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @contextmanager
    def writing(self, name: str) -> Iterator[Path]:
        """A path to write to; at the end it becomes a file of the run."""
        with write_beside(self.path / name) as temporary:
            yield temporary
        self._written.add(self.path / name)

    def write_json(self, name: str, value: Any) -> None:
        """Strict JSON: what is not a number there is null."""
        self.write_text(name, json.dumps(finite(value), indent=2, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        """What a file of the run holds, checked by its schema."""
        try:
            return read_checked(self.path / name)
        except FileNotFoundError as error:
            raise CltrError(
                f"{self.path}: the run is not finished: it has no {name}; continue it with: cltr "
                f"train --resume {self.path}"
            ) from error

    def save_model(self, name: str, model: Model) -> None:
        """All that the model's scores depend on, as safetensors."""
        self._save(name, model.state())

    def load_model(self, name: str, model: Model) -> None:
        """A saved state into a model of the same shape."""
        state = self._load(name)
        try:
            model.load_state(state)
        except (KeyError, ValueError, TypeError) as error:
            raise DataError(
                f"{self.path / name}: the weights do not fit the scorer of run.toml: {error}"
            ) from error

    def save_scores(self, name: str, scores: Floats, *, key: str = "scores") -> None:
        """Scores, or other numbers, of all documents of the run's data set."""
        self._save(name, {key: scores})

    def load_scores(self, name: str, *, n_documents: int, key: str = "scores") -> Floats:
        """What :meth:`save_scores` wrote; version 0.1 called everything ``scores``."""
        arrays = self._load(name)
        found: Floats | None = arrays.get(key, arrays.get("scores"))
        what = key.replace("_", " ")
        if found is None:
            raise DataError(f"{self.path / name}: holds no {what}")
        if found.dtype != np.float64 or found.ndim != _AXES.get(key, 1) or not finite_array(found):
            raise DataError(
                f"{self.path / name}: expected {what} as finite numbers in float64, got "
                f"{'x'.join(map(str, found.shape))} of {found.dtype}"
            )
        if key != "scores" and not ((found >= 0) & (found <= 1)).all():
            raise DataError(f"{self.path / name}: {what} has values outside [0, 1]")
        if len(found) != n_documents:
            raise DataError(
                f"{self.path / name}: has {what} of {len(found)} documents; the data set has "
                f"{n_documents}"
            )
        return found

    def embed_click_model(self, path: str, fingerprint: str) -> None:
        """Keep a copy of a fitted click model, so that the folder can go elsewhere."""
        with self.writing(f"click-model-{fingerprint}.h5") as partial:
            shutil.copyfile(path, partial)

    def embedded_click_model(self, fingerprint: str) -> Path | None:
        """The copy of a fitted click model, if there is one."""
        path = self.path / f"click-model-{fingerprint}.h5"
        return path if path.is_file() else None

    def _save(self, name: str, arrays: State) -> None:
        with self.writing(name) as temporary:
            write_arrays(temporary, arrays)

    def _load(self, name: str) -> State:
        path = self.path / name
        try:
            return read_arrays(path)
        except FileNotFoundError as error:
            raise CltrError(f"{path}: no such file; the run is not finished") from error


def _missing(path: Path) -> list[Path]:
    """Folders that have to be made, the innermost first."""
    return [folder for folder in (path, *path.parents) if not folder.exists()]


def _make(path: Path) -> None:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError as error:
        raise CltrError(f"{path}: is a file; a run needs a folder") from error
    except OSError as error:
        raise CltrError(f"{path}: cannot create run folder: {error.strerror}") from error


def _numbered(parent: Path, label: str, made: list[Path]) -> Path:
    """Make the folder with the next number; one process counts at a time, so none comes twice."""
    made += _missing(parent)
    _make(parent)
    with claim(parent / "number", wait=True):
        while (path := _next_folder(parent, label)).exists():
            pass  # an older version, which does not wait, was faster
        _make(path)
    made.insert(0, path)
    return path


def _next_folder(parent: Path, label: str) -> Path:
    taken: Iterable[Path] = parent.iterdir() if parent.is_dir() else ()
    numbers = [int(match[1]) for p in taken if (match := re.match(r"(\d+)-", p.name))]
    return parent / f"{max(numbers, default=0) + 1:03d}-{label}"
