"""What the JSON files of a run folder must hold, checked when they are read.

Whoever adds a file to a run folder adds a schema here and a line to :data:`SCHEMAS`; whoever adds
a key to ``result.json`` adds a field. Fields with defaults may be missing: runs of version 0.1 do
not have them.
"""

from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from cltr.errors import DataError
from cltr.files.json_files import Schema, read_json

Number = float | None
"""A number that may be unknown."""


class Value(Schema):
    """A value that was estimated from clicks."""

    value: float
    standard_error: Number = None
    low: Number = None
    high: Number = None
    confidence: float = 0.95
    target: str = "these queries"
    no_interval_because: str | None = None


class OffPolicy(Schema):
    """Values of production and of the policy by clicks."""

    split: str = "valid"
    reward: str
    n_interactions: int
    production: Value
    policy: Value
    difference: Value
    largest_query_share: float = 0.0
    effective_interactions: Number = None
    largest_weight: Number = None
    one_query_dominates: bool = False
    seen_by_training: bool = False
    fitted_click_model: bool = False


class Loss(Schema):
    """How far a metric could fall."""

    loss: float
    at_most_1: float
    at_most_3: float
    largest_query: float


class WorstCase(Schema):
    """The worst case of a split; beside these keys it has a :class:`Loss` for each metric."""

    query_weights: Literal["equal", "traffic"]
    exposure: Literal["exact", "logged", "counted"]
    kept_of_most_demoted: float

    @model_validator(mode="after")
    def _losses(self) -> Self:
        for name, found in (self.model_extra or {}).items():
            if "@" in name:
                Loss.model_validate(found)
        return self


class SplitCertificate(Schema):
    """What is certified of a split."""

    documents_outside: Number = None
    worst_case: WorstCase | None = None


class Certificates(Schema):
    """By split; null where production is not known."""

    train: SplitCertificate | None
    test: SplitCertificate | None


class Check(Schema):
    """A health check of the clicks."""

    name: str
    outcome: Literal["pass", "inconclusive", "fail"]
    sentence: str
    advice: str = ""


class Advice(Schema):
    """The verdict in words."""

    sentence: str
    share: float = 0.0


class Misfit(Schema):
    """Whether the clicks contradict the click model."""

    tested: bool
    rejected: bool = False
    p_value: Number = None
    size: Number = None
    standard_error: Number = None
    finding: str = ""


class Result(Schema):
    """``result.json``."""

    estimator: str
    reward: str
    ranker: str
    scorer: str
    metric: str
    top_k: int = Field(ge=1)
    users: str | None = None
    data: str
    run: str
    n_interactions: int = Field(ge=1)
    n_queries: int = Field(0, ge=0)
    click_model: str = ""
    exposure: Literal["exact", "logged", "counted"] = "exact"
    plan: Literal["learn", "narrow", "stay"] = "learn"
    assumptions: list[str] = Field([])
    alerts: list[str] = Field([])
    warnings: list[str] = Field([])
    click_model_notes: list[str] = Field([])
    checks: list[Check] = Field([])
    misfit: Misfit | None = None
    diagnostics: dict[str, Number] = Field({})
    clip_fraction: Number = None
    unsupported_documents: int | None = None
    judged_queries: list[int] = Field([0, 0], min_length=2, max_length=2)
    blend: float = Field(1.0, ge=0, le=1)
    metrics: dict[
        Literal["production", "production_sorted", "policy", "skyline"], dict[str, Number]
    ]
    off_policy: OffPolicy | None = None
    certificate: Certificates
    verdict: Literal["deploy", "canary", "hold", "reject"] = "hold"
    advice: Advice | None = None

    @model_validator(mode="after")
    def _agree(self) -> Self:
        """What is read by a name that other values decide must be there."""
        name = f"ndcg@{self.top_k}"
        for who in ("production", "policy"):
            if who not in self.metrics:
                raise ValueError(f"'metrics.{who}' is missing")
        if name in self.metrics["policy"]:
            for who, found in self.metrics.items():
                for key in (name, f"train_{name}"):
                    if key not in found:
                        raise ValueError(f"'metrics.{who}' has no {key}")
        for one in (self.certificate.train, self.certificate.test):
            if one and one.worst_case and name not in (one.worst_case.model_extra or {}):
                raise ValueError(f"the worst case has no {name}")
        if "verdict" in self.model_fields_set and self.advice is None:
            raise ValueError("there is a verdict without advice")
        if self.off_policy is None and "off_policy" in self.model_fields_set:
            raise ValueError("'off_policy' holds nothing")
        return self


class Normalized(Schema):
    """A fitted normalisation; an infinite deviation is null."""

    name: str
    center: list[float]
    scale: list[Number]


class InputsFile(Schema):
    """``inputs.json``."""

    n_features: int = Field(ge=0, le=10**6)
    n_documents: int = Field(ge=0, le=10**10)
    feature_names: list[str]
    normalization: Normalized
    production_score_is_an_input: bool
    production_score_matches_counts: bool
    knows_its_own_documents_only: bool
    data: str


class Epoch(Schema):
    """A line of ``history.json``."""

    epoch: int = Field(ge=0)
    valid_value: Number = None


class CheckpointIndex(Schema):
    """``checkpoint/state.json``: numbers, and where each array lies."""

    epoch: int = Field(ge=0)
    best_epoch: int = Field(ge=0)
    best_value: Number
    history: list[Epoch]
    arrays: dict[Literal["weights", "optimizer", "best_weights"], dict[str, list[str]]]


SCHEMAS: dict[str, type[Schema]] = {
    "result.json": Result,
    "inputs.json": InputsFile,
    "state.json": CheckpointIndex,
}
"""Schemas of files that hold an object, by name."""


def read_checked(path: Path) -> Any:
    """The value of a JSON file of a run, checked; FileNotFoundError if there is none."""
    value = read_json(path)
    schema = SCHEMAS.get(path.name)
    if schema is not None:
        schema.check(value, where=path)
    elif path.name == "history.json":
        _check_history(path, value)
    return value


def _check_history(path: Path, value: Any) -> None:
    if not isinstance(value, list):
        raise DataError(f"{path}: is no list of epochs")
    for number, line in enumerate(value):
        Epoch.check(line, where=f"{path}: {number}")
