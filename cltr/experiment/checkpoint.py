"""The checkpoint of a run that is on its way: all that it needs to go on.

Arrays lie in numbered files, and ``state.json`` says which array lies where. It is written last,
so a kill leaves the checkpoint before. An array that was saved already is not written again: a
model that only adds, such as one of trees, is saved at the cost of what it added.
"""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from cltr.errors import DataError
from cltr.experiment.run_schema import read_checked
from cltr.files.arrays import read_arrays, write_arrays
from cltr.files.claims import remove_leftovers
from cltr.files.storage import finite, make_folder, write_beside
from cltr.training.loop import TrainingState

INDEX = "state.json"
GROUPS = ("weights", "optimizer", "best_weights")
"""Fields of ``TrainingState`` that are arrays by name."""
DAMAGED = "damaged checkpoint; remove it to start again"
NUMBERS = ("epoch", "best_epoch", "best_value", "history")


class Checkpoint:
    """A folder with the last saved epoch; it does not exist until something is saved."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._saved: dict[int, tuple[NDArray[Any], str, str]] = {}
        """Arrays of the last checkpoint by id, with their file and their name in it."""

    @property
    def exists(self) -> bool:
        return (self.path / INDEX).exists()

    def save(self, state: TrainingState) -> None:
        """Replace the checkpoint by this one."""
        make_folder(self.path)
        remove_leftovers(self.path)
        groups: dict[str, Mapping[str, NDArray[Any]]] = {
            group: getattr(state, group) for group in GROUPS
        }
        arrays = {id(one): one for group in groups.values() for one in group.values()}
        new = {key: one for key, one in arrays.items() if key not in self._saved}
        file = self._next_file()
        if new:
            names = {f"{place}": one for place, one in enumerate(new.values())}
            with write_beside(self.path / file) as temporary:
                write_arrays(temporary, names)
        saved = {key: found for key, found in self._saved.items() if key in arrays}
        saved |= {key: (one, file, f"{place}") for place, (key, one) in enumerate(new.items())}
        index = {
            **{name: finite(getattr(state, name)) for name in NUMBERS},
            "arrays": {
                group: {name: saved[id(one)][1:] for name, one in members.items()}
                for group, members in groups.items()
            },
        }
        with write_beside(self.path / INDEX) as temporary:
            temporary.write_text(json.dumps(index), encoding="utf-8")
        self._saved = saved
        self._keep({found[1] for found in saved.values()} | {INDEX})

    def load(self) -> TrainingState | None:
        """The last saved epoch, or None if none was saved."""
        old = self.path.with_suffix(".safetensors")
        if old.exists():
            raise DataError(
                f"{old}: this checkpoint was written by version 0.1 and cannot be resumed; remove "
                "it to start again"
            )
        if not self.exists:
            return None
        try:
            index = read_checked(self.path / INDEX)
            places = index["arrays"]
            names = {place[0] for group in places.values() for place in group.values()}
            files = {name: read_arrays(self._inside(name)) for name in sorted(names)}
            groups: dict[str, Any] = {
                group: {name: files[file][key] for name, (file, key) in places[group].items()}
                for group in GROUPS
            }
            index["best_value"] = -math.inf if index["best_value"] is None else index["best_value"]
            state = TrainingState(**{name: index[name] for name in NUMBERS}, **groups)
        except (OSError, ValueError, KeyError, TypeError, AttributeError, DataError) as error:
            raise DataError(f"{self.path}: {DAMAGED}") from error
        self._saved = {
            id(groups[group][name]): (groups[group][name], file, key)
            for group in GROUPS
            for name, (file, key) in places[group].items()
        }
        return state

    def remove(self) -> None:
        """Remove all of it."""
        if self.path.is_dir():
            (self.path / INDEX).unlink(missing_ok=True)
            self._keep(set())
            self.path.rmdir()

    def _inside(self, name: str) -> Path:
        if Path(name).name != name:
            raise ValueError(name)
        return self.path / name

    def _next_file(self) -> str:
        numbers = [int(one.stem) for one in self.path.glob("*.safetensors") if one.stem.isdigit()]
        return f"{max(numbers, default=-1) + 1:06d}.safetensors"

    def _keep(self, names: set[str]) -> None:
        for path in self.path.iterdir():
            if path.name not in names and path.suffix in (".safetensors", ".json"):
                path.unlink(missing_ok=True)
