"""What is compared: methods, and the grid of interactions, seeds and users that each is run on."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from pydantic import BeforeValidator, Field

from cltr.errors import OptionError, UsageError
from cltr.experiment.config import (
    TABLES,
    RunConfig,
    Version,
    resolve,
)
from cltr.files.json_files import read_toml
from cltr.options import Choice, Options

SKYLINE = "skyline"
"""The name of the cells that learn from judgements; no method may take it."""
PRODUCTION = "production"
MOST_CELLS = 1_000_000
GRID = ("seed", "interactions", "skyline", "log", "users")
"""Keys of a run file that the study itself sets; of users, only options may stand in the base."""
ASSUMED: str = RunConfig.model_fields["click_model"].default.name

_STEPS = re.compile(r"(?P<first>[^.:]+(?:\.\d+)?)\.\.(?P<last>[^:]+):(?P<steps>\d+)")


def parse_interactions(value: Any) -> list[int]:
    """Numbers of interactions: a number, a list, or evenly on a logarithmic scale.

    Example:
        >>> parse_interactions("1e2..1e9:25")[:4]
        [100, 196, 383, 750]
        >>> parse_interactions("100,1e4")
        [100, 10000]
    """
    if isinstance(value, str) and (match := _STEPS.fullmatch(value.strip())):
        first, last = _count(match["first"]), _count(match["last"])
        if not 1 <= int(match["steps"]) <= MOST_CELLS:
            raise ValueError(f"{value!r} has {match['steps']} steps; there must be 1 or more")
        found = np.geomspace(first, last, int(match["steps"])).round().astype(np.int64).tolist()
    else:
        parts = value.split(",") if isinstance(value, str) else value
        found = [_count(part) for part in (parts if isinstance(parts, list) else [parts])]
    return list(dict.fromkeys(found))


def _count(value: Any) -> int:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = 0.0
    if not (1 <= number <= 1e15 and number == int(number)):
        raise ValueError(f"{value!r} is not a number such as 1000 or 1e5, nor 1e2..1e9:25")
    return int(number)


def parse_seeds(value: Any) -> list[int]:
    """Seeds: a list, or how many of 1, 2, 3, ...

    Example:
        >>> parse_seeds(3), parse_seeds("4,9"), parse_seeds([7])
        ([1, 2, 3], [4, 9], [7])
    """
    try:
        if isinstance(value, str):
            value = [int(part) for part in value.split(",")] if "," in value else int(value)
    except ValueError:
        raise ValueError(
            f"{value!r} is neither a number of seeds nor a list of seeds such as 1,2,3"
        ) from None
    if isinstance(value, int) and not isinstance(value, bool):
        if not 1 <= value <= MOST_CELLS:
            raise ValueError(f"{value} seeds are asked for; there must be 1 to {MOST_CELLS:,}")
        return list(range(1, value + 1))
    if not isinstance(value, list) or not all(isinstance(seed, int) for seed in value):
        raise ValueError(
            f"{value!r} is neither a number of seeds nor a list of seeds such as 1,2,3"
        )
    return list(dict.fromkeys(value))


@dataclass(frozen=True)
class Cell:
    """One run of a study; the skyline has no interactions and no users."""

    method: str
    seed: int
    interactions: int | None = None
    users: str = ""


class Study(Options):
    """An experiment; as a file, TOML with these keys."""

    version: Version = Field(
        "0.1", description="whose defaults apply to what the base and the methods leave out."
    )
    title: str = Field("", description="what the figure says at its top.")
    interactions: Annotated[list[int], BeforeValidator(parse_interactions)] = Field(
        [1_000, 10_000, 100_000, 1_000_000],
        min_length=1,
        description="training interactions: a list, or 1e2..1e9:25.",
    )
    seeds: Annotated[list[int], BeforeValidator(parse_seeds)] = Field(
        [1, 2, 3], min_length=1, description="a list, or how many of 1, 2, 3, ..."
    )
    users: list[str] = Field(
        [], description="click models that people follow; the assumed one if empty."
    )
    user_models: dict[str, dict[str, Any]] = Field(
        {},
        description="click model and options of users, by the name they are shown with; other "
        "names in users are those of click models.",
    )
    interval: float = Field(
        0.8, gt=0, lt=1, description="probability of the prediction intervals over seeds."
    )
    skyline: bool = Field(True, description="also learn from all judgements, for comparison.")
    base: dict[str, Any] = Field({}, description="run file values that all methods share.")
    methods: dict[str, dict[str, Any]] = Field(
        min_length=1, description="what each method adds to the base, by the name it is shown with."
    )
    panels: dict[str, list[str]] = Field(
        {}, description="which methods are drawn together; all in one if empty."
    )
    plugins: dict[str, str] = Field(
        {}, description="packages and plugin files that it was made with; not loaded from here."
    )
    curves: str = Field("", description="the published curves to draw behind: a figure's name.")

    def model_post_init(self, context: Any) -> None:
        """Refuse names that mean something else, and methods that cannot be compared."""
        del context
        for name in (SKYLINE, PRODUCTION):
            if name in self.methods:
                raise UsageError(
                    f"a method cannot be named '{name}': every comparison has a row of that name; "
                    "choose another"
                )
        if not all(name.strip() for name in self.methods):
            raise UsageError("a method needs a name, such as 'careful: prpo estimator.clip=0.5'")
        self._refuse_grid()
        for panel, names in self.panels.items():
            if unknown := [name for name in names if name not in self.methods]:
                raise OptionError(f"panels.{panel}: no method '{unknown[0]}'")
        depths = {name: self._first(name).top_k for name in self.methods}
        if len(set(depths.values())) > 1:
            told = ", ".join(f"'{name}' {top_k}" for name, top_k in depths.items())
            raise UsageError(f"methods are compared at the same top_k; here {told}")
        if len(self) > MOST_CELLS:
            raise UsageError(f"{len(self):,} cells are too many; there may be {MOST_CELLS:,}")

    def _refuse_grid(self) -> None:
        """What a study sets cell by cell cannot stand in its base or in a method."""
        owners = {f"method '{name}'": values for name, values in self.methods.items()}
        without_users = {key: value for key, value in self.base.items() if key != "users"}
        for owner, values in {"the base": without_users, **owners}.items():
            if taken := [key for key in GRID if key in values]:
                raise UsageError(f"{owner}: {taken[0]} is the study's own; leave it out here")

    def _first(self, method: str) -> RunConfig:
        return self.config(Cell(method, self.seeds[0], self.interactions[0], self.people[0]))

    @property
    def people(self) -> list[str]:
        """Users by name: those of the study, of its base, or the assumed click model."""
        values = self._values()
        assumed = values.get("click_model", {}).get("name", ASSUMED)
        named = self.users or list(self.user_models)
        return named or [values.get("users", {}).get("name", assumed)]

    @property
    def shown(self) -> dict[str, list[str]]:
        """Panels, one of all methods if none are given."""
        return self.panels or {"": list(self.methods)}

    def __len__(self) -> int:
        per_seed = len(self.interactions) * len(self.people) * len(self.methods) + self.skyline
        return per_seed * len(self.seeds)

    def groups(self) -> Iterator[list[Cell]]:
        """Cells that share their clicks, group by group; small numbers of interactions first."""
        for seed in self.seeds:
            if self.skyline:
                yield [Cell(SKYLINE, seed)]
        for interactions in self.interactions:
            for seed in self.seeds:
                for users in self.people:
                    yield [Cell(method, seed, interactions, users) for method in self.methods]

    def config(self, cell: Cell) -> RunConfig:
        """The run file of a cell."""
        if cell.method == SKYLINE:
            values = self._values()
            values |= {"estimator": {"name": "plain"}, "reward": {"name": "labels"}}
        else:
            values = self._values(self.methods[cell.method])
        values |= {"seed": cell.seed, "skyline": False}
        values.setdefault("version", self.version)
        # Checks would keep production where methods differ most; a method may ask for them.
        values.setdefault("on_doubt", "ignore")
        if cell.interactions is not None:
            values["interactions"] = cell.interactions
        given = values.pop("users", {})
        if cell.users in self.user_models:
            values["users"] = self.user_models[cell.users]
        elif cell.users and cell.users != values.get("click_model", {}).get("name", ASSUMED):
            values["users"] = given if given.get("name") == cell.users else {"name": cell.users}
        return resolve(values, source=f"method '{cell.method}'")

    def _values(self, *methods: Mapping[str, Any]) -> dict[str, Any]:
        """Of the base, and of a method on top."""
        values: dict[str, Any] = {}
        for layer in (self.base, *methods):
            for key, value in layer.items():
                values[key] = merged(values.get(key), value) if key in TABLES else value
        for key in set(values) & set(TABLES):  # options alone are those of the default
            default = RunConfig.model_fields[key].default
            if isinstance(default, Choice):
                values[key].setdefault("name", default.name)
        return values

    @classmethod
    def load(cls, path: Path) -> dict[str, Any]:
        """The values of a study file, unchecked."""
        return read_toml(path, "study file")

    def to_toml(self) -> str:
        """As a study file."""
        import tomli_w

        return tomli_w.dumps(self.model_dump(mode="json"))


def table(values: Mapping[str, Any], key: str) -> dict[str, Any]:
    """A table of run file values, where a component may also stand as its name alone."""
    value = values.get(key, {})
    if not isinstance(value, str | Mapping):
        raise OptionError(
            f"{value!r} is neither the name of a component nor a table of its options"
        )
    return {"name": value} if isinstance(value, str) else dict(value)


def merged(below: Any, above: Any) -> dict[str, Any]:
    """Options on top of others; those of another component do not carry over.

    Options without a name are those of whatever component they meet.

    Example:
        >>> merged({"name": "prpo", "clip": 1}, {"name": "prpo", "rollback": 1})
        {'name': 'prpo', 'clip': 1, 'rollback': 1}
        >>> merged({"name": "prpo", "clip": 1}, "safe")
        {'name': 'safe'}
        >>> merged({"clip": 1}, "prpo")
        {'clip': 1, 'name': 'prpo'}
    """
    old, new = table({"t": below or {}}, "t"), table({"t": above}, "t")
    if "name" in new and new["name"] != old.get("name", new["name"]):
        old = {}
    return old | new
