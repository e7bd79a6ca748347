"""A run's folder: its run file, its weights, its checkpoint, its result.

Every file is written beside and renamed; ``result.json`` comes last, so a folder with one is whole.
"""

import json
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.errors import CltrError, DataError
from cltr.files.storage import finite as finite  # noqa: PLC0414  # many ask for it here
from cltr.files.storage import write_beside
from cltr.training.loop import TrainingState
from cltr.types import Floats

if TYPE_CHECKING:
    import torch

CHECKPOINT = "checkpoint.safetensors"


class RunFolder:
    """The files of one run."""

    def __init__(self, path: Path, *, made: Iterable[Path] = ()) -> None:
        self.path = path
        self._made = [*made]  # folders that came with the run, the innermost first
        self._written: set[Path] = set()

    @classmethod
    def create(cls, out: Path | None, *, label: str) -> "RunFolder":
        """A new folder: ``out``, or the next ``runs/NNN-label``."""
        if out is not None and (out / "run.toml").exists():
            raise CltrError(
                f"{out}: there is a run already; use --resume to go on with it, or another --out"
            )
        while True:
            path = _next_folder(Path("runs"), label) if out is None else out
            made = [folder for folder in (path, *path.parents) if not folder.exists()]
            try:
                path.mkdir(parents=True, exist_ok=out is not None)
            except FileExistsError as error:
                if out is not None:
                    raise CltrError(f"{path}: is a file; a run needs a folder") from error
                continue  # another run was faster; the next number is free
            except OSError as error:
                raise CltrError(f"{path}: cannot create run folder: {error.strerror}") from error
            return cls(path, made=made)

    @classmethod
    def open(cls, path: Path) -> "RunFolder":
        """An existing run."""
        if not (path / "run.toml").is_file():
            raise CltrError(f"{path}: not a run folder: it has no run.toml")
        return cls(path)

    @property
    def config_file(self) -> Path:
        return self.path / "run.toml"

    def discard(self) -> None:
        """Remove what this run has written, and the folders it made if nothing else is in them."""
        for path in self._written:
            path.unlink(missing_ok=True)
        for folder in self._made:
            with suppress(OSError):
                folder.rmdir()

    def write_text(self, name: str, text: str) -> None:
        """Write a small file whole or not at all."""
        with self._write(name) as temporary:
            temporary.write_text(text, encoding="utf-8")

    @contextmanager
    def _write(self, name: str) -> Iterator[Path]:
        with write_beside(self.path / name) as temporary:
            yield temporary
        self._written.add(self.path / name)

    def write_json(self, name: str, value: Any) -> None:
        """Strict JSON: what is not a number there is null."""
        self.write_text(name, json.dumps(finite(value), indent=2, allow_nan=False) + "\n")

    def read_json(self, name: str) -> Any:
        path = self.path / name
        try:
            return json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError as error:
            raise CltrError(
                f"{self.path}: the run is not finished: it has no {name}; "
                f"go on with: cltr train --resume {self.path}"
            ) from error
        except (OSError, ValueError) as error:
            raise DataError(f"{path}: cannot be read as JSON: {error}") from error

    def save_module(self, name: str, module: "torch.nn.Module") -> None:
        """Weights of a module as safetensors."""
        self._save(name, dict(module.state_dict()))

    def load_module(self, name: str, module: "torch.nn.Module") -> None:
        """Weights into a module of the same shape."""
        state = self._load(name)
        try:
            module.load_state_dict(state)
        except RuntimeError as error:
            raise DataError(
                f"{self.path / name}: the weights do not fit the scorer of run.toml"
            ) from error

    def save_scores(self, name: str, scores: Floats) -> None:
        """Scores, or other numbers, of all documents of the run's data set."""
        import torch

        self._save(name, {"scores": torch.from_numpy(np.ascontiguousarray(scores))})

    def load_scores(self, name: str, *, n_documents: int) -> Floats:
        """The scores that :meth:`save_scores` wrote."""
        tensors = self._load(name)
        if "scores" not in tensors:
            raise DataError(f"{self.path / name}: holds no scores")
        scores: Floats = tensors["scores"].numpy()
        if len(scores) != n_documents:
            raise DataError(
                f"{self.path / name}: has scores of {len(scores)} documents; the data set has "
                f"{n_documents}"
            )
        return scores

    @property
    def has_checkpoint(self) -> bool:
        return (self.path / CHECKPOINT).exists()

    def save_checkpoint(self, state: TrainingState) -> None:
        """All that is needed to go on; tensors and numbers in one file."""
        tensors = _prefixed("weights", state.weights) | _prefixed("best", state.best_weights)
        groups = []
        if state.optimizer:
            for key, slots in state.optimizer["state"].items():
                tensors |= _prefixed(f"optimizer.{key}", slots)
            groups = state.optimizer["param_groups"]
        rest = {
            "epoch": state.epoch,
            "best_epoch": state.best_epoch,
            "best_value": state.best_value,
            "history": state.history,
            "groups": groups,
        }
        self._save(CHECKPOINT, tensors, {"state": json.dumps(rest)})

    def load_checkpoint(self) -> TrainingState | None:
        """The last finished epoch, or None if none was finished."""
        path = self.path / CHECKPOINT
        if not path.exists():
            return None
        from safetensors import SafetensorError, safe_open

        try:
            with safe_open(path, framework="pt") as file:
                rest = json.loads(file.metadata()["state"])
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError, ValueError, KeyError, TypeError) as error:
            raise DataError(f"{path}: damaged checkpoint; remove it to start afresh") from error
        slots = _below("optimizer", tensors)
        states: dict[int, dict[str, Any]] = {}
        for key, tensor in slots.items():
            number, _, slot = key.partition(".")
            states.setdefault(int(number), {})[slot] = tensor
        optimizer = {"state": states, "param_groups": rest["groups"]} if rest["groups"] else {}
        return TrainingState(
            epoch=rest["epoch"],
            weights=_below("weights", tensors),
            optimizer=optimizer,
            best_weights=_below("best", tensors),
            best_epoch=rest["best_epoch"],
            best_value=rest["best_value"],
            history=rest["history"],
        )

    def remove_checkpoint(self) -> None:
        (self.path / CHECKPOINT).unlink(missing_ok=True)

    def _save(
        self, name: str, tensors: "dict[str, torch.Tensor]", metadata: dict[str, str] | None = None
    ) -> None:
        from safetensors.torch import save

        contiguous = {key: tensor.contiguous() for key, tensor in tensors.items()}
        with self._write(name) as temporary:
            temporary.write_bytes(save(contiguous, metadata))  # save_file hides a full disk

    def _load(self, name: str) -> "dict[str, torch.Tensor]":
        from safetensors import SafetensorError
        from safetensors.torch import load_file

        path = self.path / name
        try:
            return load_file(path)
        except FileNotFoundError as error:
            raise CltrError(f"{path}: no such file; the run is not finished") from error
        except (OSError, SafetensorError) as error:
            raise DataError(f"{path}: damaged weights: {error}") from error


def _next_folder(parent: Path, label: str) -> Path:
    taken: Iterable[Path] = parent.iterdir() if parent.is_dir() else ()
    numbers = [int(match[1]) for p in taken if (match := re.match(r"(\d+)-", p.name))]
    return parent / f"{max(numbers, default=0) + 1:03d}-{label}"


def _prefixed(prefix: str, values: dict[str, Any]) -> dict[str, Any]:
    return {f"{prefix}.{key}": value for key, value in values.items()}


def _below(prefix: str, tensors: dict[str, Any]) -> dict[str, Any]:
    start = f"{prefix}."
    return {key[len(start) :]: value for key, value in tensors.items() if key.startswith(start)}
