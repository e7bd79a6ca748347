"""The run file: every choice of a run, checked, with its defaults; read and written as TOML."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, Self, TypeAlias

from pydantic import Field, field_validator, model_validator

from cltr.errors import OptionError, UsageError
from cltr.evaluation.metrics import MetricOptions
from cltr.files.json_files import read_toml
from cltr.options import Choice, Options, did_you_mean
from cltr.policies.rank_weights import METRICS
from cltr.schedules import Schedule, ScheduleOption
from cltr.training.loop import TrainingOptions

ALIASES = {
    "ips": ("plain", "ips"),
    "dr": ("plain", "dr"),
    "safe-ips": ("safe", "ips"),
    "safe-dr": ("safe", "dr"),
}
"""Estimators in the paper's words: the estimator and the reward that they mean."""

TABLES = (
    "estimator",
    "reward",
    "ranker",
    "scorer",
    "click_model",
    "users",
    "training",
    "production",
    "evaluation",
)
"""Tables of the run file, and what ``-o table.key=value`` may name (with - for _)."""


Version: TypeAlias = Literal["0.1", "0.2"]
CURRENT: Version = "0.2"
"""The version whose defaults a new run has. A file without a version has those of 0.1."""
AUTO = "auto"
"""The name of the click model that is fitted to the clicks of the run."""
OnDoubt: TypeAlias = Literal["stay", "bound", "ignore"]


class ProductionOptions(Options):
    """The production ranker of a simulation: trained on the judgements of a few queries."""

    fraction: float = Field(
        0.03,
        gt=0,
        le=1,
        description=(
            "share of the training queries whose judgements the production ranker is trained on."
        ),
    )
    min_queries: int = Field(10, ge=1, description="least number of these queries.")
    scorer: str = Field(
        "", description=("scorer of the production ranker; that of the run if empty.")
    )
    epochs: int = Field(
        30,
        ge=0,
        description=(
            "passes over these queries; with more, its scores "
            "differ more and its rankings vary less."
        ),
    )
    learning_rate: float = Field(1e-3, gt=0, allow_inf_nan=False, description="step size of Adam.")
    seed: int = Field(
        0,
        ge=0,
        lt=2**63,
        description=(
            "seed of the production ranker, to use the same one in "
            "several runs; 0: the seed of the run."
        ),
    )


class RunConfig(Options):
    """Every choice of a run."""

    version: Version = Field(
        "0.1",
        description=("version of cltr whose defaults apply to keys that the file leaves out."),
    )
    data: str = Field(
        "demo",
        description=(
            "data set file, 'demo' for the one in the package, or 'log' for the documents "
            "of the log."
        ),
    )
    log: str = Field("", description="log file; clicks are simulated if empty.")
    production_scores: str = Field(
        "", description="table with production's scores: query, document, score."
    )
    interactions: int = Field(
        100_000, ge=1, le=10**15, description="training interactions to simulate."
    )
    seed: int = Field(1, ge=0, lt=2**63, description="seed of all random choices.")
    top_k: int = Field(
        5, ge=1, description=("number of ranks that users see, and cutoff of the metric.")
    )
    metric: str = Field("dcg", description=f"metric that training maximises: {', '.join(METRICS)}.")
    exposure: Literal["auto", "exact", "logged", "counted"] = Field(
        "auto",
        description="how often production shows each document: exact (from its scores), logged "
        "(from propensities) or counted (from impressions); auto is the first of "
        "these that the log supports.",
    )
    init: Literal["production", "random"] = Field(
        "production", description="start at production, or from random weights as in the paper."
    )
    propensity_clip: ScheduleOption = Field(
        Schedule("10/sqrt(N)"), description="lower limit on the propensities of training clicks."
    )
    on_doubt: OnDoubt = Field(
        "ignore",
        description="if a health check fails: stay with production, bound the policy to a narrow "
        "band around it, or ignore the check. [stay; ignore in files of version 0.1]",
    )
    standardize: bool | None = Field(
        None,
        description="whether the model standardises its inputs; if not set, it does if the data "
        "set is not normalised, and never in files of version 0.1.",
    )
    skyline: bool = Field(True, description="also train a reference ranker on all judgements.")
    estimator: Choice = Choice(name="prpo")
    reward: Choice = Choice(name="dr")
    ranker: Choice = Choice(name="exact")
    scorer: Choice = Choice(name="mlp")
    click_model: Choice = Choice(name="trust-bias")
    users: Choice | None = None
    training: TrainingOptions = TrainingOptions()
    production: ProductionOptions = ProductionOptions()
    evaluation: MetricOptions = MetricOptions()
    provenance: dict[str, Any] = Field(
        default_factory=dict, description="versions and data hash of a finished run; not read."
    )

    @field_validator("metric")
    @classmethod
    def _known_metric(cls, metric: str) -> str:
        if metric not in METRICS:
            raise ValueError(f"there are: {', '.join(METRICS)}{did_you_mean(metric, METRICS)}")
        return metric

    @model_validator(mode="after")
    def _log_or_users(self) -> Self:
        if self.log and self.users is not None:
            raise ValueError(
                "users (--users) are for simulated clicks; leave them out with a log (--log)"
            )
        if self.click_model.name == AUTO and not self.log and self.users is None:
            raise ValueError(
                "click_model is auto, so it is fitted to clicks; say whose clicks: give a log, or "
                "simulated users"
            )
        if self.production_scores and not self.log:
            raise ValueError("production_scores belong to a log; give the log too")
        return self

    @classmethod
    def load(cls, path: Path) -> "dict[str, Any]":
        """The values of a run file, unchecked."""
        return read_toml(path, "run file")

    def to_toml(self) -> str:
        """As a run file; users only if they are set, interactions only if they are simulated."""
        import tomli_w

        left_out = {"interactions"} if self.log else set()
        values = self.model_dump(mode="json", exclude_none=True, exclude=left_out)
        return tomli_w.dumps(values)


def resolve(values: dict[str, Any], *, source: str = "") -> RunConfig:
    """Check the values of a run file or command line, aliases of estimators replaced.

    Args:
        values: as in the run file.
        source: the file, for errors to name it.
    """
    try:
        return _resolve(dict(values))
    except UsageError as error:
        if not source:
            raise
        raise type(error)(f"{source}: {error}") from error


def _resolve(values: dict[str, Any]) -> RunConfig:
    estimator = dict(table_of(values, "estimator") or {"name": "prpo"})
    name = estimator.get("name")
    if isinstance(name, str) and name in ALIASES:
        estimator["name"], meant = ALIASES[name]
        reward = dict(table_of(values, "reward"))
        if reward.setdefault("name", meant) != meant:
            raise UsageError(
                f"--estimator {name} means '{estimator['name']}' over the reward '{meant}', but "
                f"--reward is '{reward['name']}'; use --estimator {estimator['name']} "
                f"--reward {reward['name']}"
            )
        values["reward"] = reward
    values["estimator"] = estimator
    values = with_defaults(values)
    return RunConfig.parse(values, owner="")


def with_defaults(values: dict[str, Any]) -> dict[str, Any]:
    """Values with the defaults of their version, where these are not the components' own.

    Example:
        >>> with_defaults({"estimator": {"name": "prpo"}})["estimator"]
        {'name': 'prpo', 'clip': '100/N'}
        >>> with_defaults({"version": "0.2", "log": "log.h5"})["click_model"]
        {'name': 'auto'}
    """
    values = dict(values)
    if values.get("version", "0.1") == "0.1":
        estimator = dict(table_of(values, "estimator"))
        if estimator.get("name") == "prpo":
            values["estimator"] = {"name": "prpo", "clip": "100/N"} | estimator
        if estimator.get("name") == "band":
            values["estimator"] = {"name": "band", "box": True} | estimator
        return values
    values.setdefault("on_doubt", "stay")
    if values.get("log"):
        values.setdefault("click_model", {"name": AUTO})
    return values


def table_of(values: dict[str, Any], key: str) -> dict[str, Any]:
    """A table of a run file; empty if it is not there."""
    value = values.get(key, {})
    if not isinstance(value, dict):
        raise OptionError(f"{key} is {value!r}: it must be a table, written below [{key}]")
    return value


def parse_assignments(assignments: Iterable[str]) -> dict[str, dict[str, Any]]:
    """``role.key=value`` words to nested tables.

    Example:
        >>> parse_assignments(["estimator.clip=100/N", "click-model.eta=2", "scorer.hidden=64,32"])
        {'estimator': {'clip': '100/N'}, 'click_model': {'eta': 2}, 'scorer': {'hidden': [64, 32]}}
    """
    return nest_options(parse_options(assignments))


def parse_options(
    assignments: Iterable[str], *, example: str = "role.key=value, such as estimator.clip=100/N"
) -> dict[str, Any]:
    """``role.key=value`` words to values by ``role.key``.

    Example:
        >>> parse_options(["estimator.clip=100/N", "scorer.hidden=64,32"])
        {'estimator.clip': '100/N', 'scorer.hidden': [64, 32]}
    """
    options: dict[str, Any] = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        owner, dot, key = path.rpartition(".")
        if not (equals and dot and owner and key):
            raise UsageError(f"-o {assignment}: expected {example}")
        options[path] = parse_value(text)
    return options


def nest_options(options: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Values by ``role.key`` to tables of a run file.

    Example:
        >>> nest_options({"click-model.eta": 2})
        {'click_model': {'eta': 2}}
    """
    tables: dict[str, dict[str, Any]] = {}
    for path, value in options.items():
        role, dot, key = path.replace("-", "_").partition(".")
        if not (dot and key):
            raise UsageError(f"-o {path}: expected role.key, such as estimator.clip")
        if role not in TABLES:
            roles = [table.replace("_", "-") for table in TABLES]
            raise UsageError(
                f"-o {path}: no role '{path.partition('.')[0]}'; there are: "
                f"{', '.join(roles)}{did_you_mean(role.replace('_', '-'), roles)}"
            )
        tables.setdefault(role, {})[key] = value
    return tables


def parse_value(text: str) -> Any:
    """A value as typed: JSON, or words with commas, or a word."""
    try:
        return json.loads(text)
    except RecursionError as error:
        raise UsageError("-o: values are nested too deep") from error
    except ValueError:
        return [parse_value(part) for part in text.split(",")] if "," in text else text
