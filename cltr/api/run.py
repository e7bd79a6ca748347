"""A finished run, and its evaluation."""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from cltr.api.candidates import gate
from cltr.api.rank import predict
from cltr.api.rank import rank as rank_queries
from cltr.api.report import Reported
from cltr.api.sources import DataLike, FileName, LogLike, named_data
from cltr.api.verdicts import CanaryResult, GateVerdict
from cltr.errors import UsageError
from cltr.evaluation.verdict import BUDGET, Verdict
from cltr.experiment import evaluate_run
from cltr.experiment.config import RunConfig
from cltr.experiment.provenance import read_config
from cltr.experiment.run_folder import RunFolder
from cltr.experiment.run_log import OWN
from cltr.experiment.run_model import RunModel
from cltr.report.page.subject import Subject, run_subject
from cltr.report.rendering import Tables
from cltr.report.run_tables import result_tables
from cltr.types import Floats


class Estimate(NamedTuple):
    """A value estimated from clicks, with its 95% interval; None if there is no interval."""

    value: float
    standard_error: float | None
    low: float | None
    high: float | None


class Evaluation(Reported):
    """Quality and risk of a policy: metrics, values estimated from clicks, and the worst case.

    Args:
        result: the result as ``--json`` prints it.
        changes: what changes for users, for the report.
    """

    def __init__(
        self, result: Mapping[str, Any], *, changes: Mapping[str, Any] | None = None
    ) -> None:
        self.result, self.changes = result, changes

    def _subject(self) -> Subject:
        config = tomllib.loads((Path(self.result["run"]) / "run.toml").read_text(encoding="utf-8"))
        name = str(self.result["run"])
        return Subject("evaluation", name, self.result, self.changes, config=config)

    @property
    def top_k(self) -> int:
        """Number of displayed ranks, and of ranks that count in the metrics."""
        return int(self.result["top_k"])

    @property
    def ndcg(self) -> float | None:
        """NDCG of the new policy on the labels of test queries; None without labels."""
        return self._ndcg("policy")

    @property
    def production_ndcg(self) -> float | None:
        """NDCG of production on the labels of test queries; None without labels."""
        return self._ndcg("production")

    def _ndcg(self, who: str) -> float | None:
        found = self.result["metrics"].get(who, {}).get(f"ndcg@{self.top_k}")
        return None if found is None else float(found)

    @property
    def metrics(self) -> dict[str, dict[str, float | None]]:
        """All metrics, by policy and name."""
        return {who: dict(values) for who, values in self.result["metrics"].items()}

    @property
    def estimated_gain(self) -> Estimate | None:
        """Gain of the new policy in the training metric, estimated from held-out clicks.

        The estimate relies on the click model (level 2). None if the run has no log and was
        evaluated again.
        """
        found = self.result.get("off_policy")
        if found is None:
            return None
        return Estimate(*(found["difference"].get(key) for key in Estimate._fields))

    @property
    def worst_case_loss(self) -> dict[str, float]:
        """Worst-case loss of NDCG against production, whatever users find relevant, by split.

        0.02 is two points. Splits without known production are left out.
        """
        found = self.result["certificate"]
        return {
            split: float(found[split]["worst_case"][f"ndcg@{self.top_k}"]["loss"])
            for split in ("test", "train")
            if found[split] is not None
        }

    @property
    def verdict(self) -> Verdict | None:
        """Deploy, canary, hold or reject, with reasons; None in runs of version 0.1."""
        advice = self.result.get("advice")
        return None if advice is None else Verdict.of(advice)

    @property
    def blend(self) -> float:
        """Share of the requests that get the new ranking; the others get production's ranking."""
        return float(self.result.get("blend", 1.0))

    @property
    def warnings(self) -> list[str]:
        """Reasons not to rely on the result, one sentence each."""
        return [*self.result.get("alerts", ()), *self.result.get("warnings", ())]

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        names = dict.fromkeys(name for values in self.metrics.values() for name in values)
        return [
            {"policy": who} | {name: values.get(name) for name in names}
            for who, values in self.metrics.items()
        ]

    def _tables(self, width: int) -> Tables:
        del width
        return result_tables(self.result)


class Run(Evaluation):
    """A finished run of ``cltr train``.

    Args:
        path: the run folder.
        result: the result, if the run was trained just now.
    """

    def __init__(self, path: FileName, *, result: Mapping[str, Any] | None = None) -> None:
        self._folder = RunFolder.open(Path(path))
        super().__init__(self._folder.read_json("result.json") if result is None else result)

    @property
    def path(self) -> Path:
        """The run folder."""
        return self._folder.path

    @cached_property
    def config(self) -> RunConfig:
        """Every choice of the run, including defaults."""
        return read_config(self._folder)

    @cached_property
    def history(self) -> list[dict[str, Any]]:
        """One row for each epoch of training."""
        return list(self._folder.read_json("history.json"))

    @property
    def n_interactions(self) -> int:
        """Number of training interactions."""
        return int(self.result["n_interactions"])

    @property
    def seconds(self) -> float:
        """Wall time of the run in seconds."""
        return float(self.result["seconds"])

    def _subject(self) -> Subject:
        return run_subject(self.path, self.result)

    def evaluate(
        self,
        *,
        data: DataLike | None = None,
        blend_to_loss: float | None = None,
        gain: str | None = None,
        empty: str | None = None,
        ties: str | None = None,
        metrics: Sequence[str | Mapping[str, Any]] | None = None,
    ) -> Evaluation:
        """Evaluate the run again; see :func:`cltr.evaluate`."""
        return judge_again(
            self,
            data=data,
            blend_to_loss=blend_to_loss,
            gain=gain,
            empty=empty,
            ties=ties,
            metrics=metrics,
        )

    @cached_property
    def _model(self) -> RunModel:
        return RunModel.open(self.path)

    def predict(
        self,
        X: Any,  # as in scikit-learn
        *,
        production: Any = None,
        lengths: Sequence[int] | None = None,
    ) -> Floats:
        """Return the scores that the model gives to documents, ``[docs]``.

        Args:
            X: raw features as an array, in the order of training, or as a data frame, whose
                columns are matched by name.
            production: production's scores, ``[docs]``, if the model needs them.
            lengths: number of documents of each query, if X has several queries. It matters only
                if features are normalised by query, or if the scorer looks at whole lists.
        """
        return predict(self._model, X, production=production, lengths=lengths)

    rank = rank_queries  # its first parameter is the run

    def gate(
        self,
        *,
        log: LogLike | None = None,
        data: DataLike | None = None,
        max_loss: float = BUDGET,
        confidence: float = 0.95,
        **judging: Any,
    ) -> GateVerdict | CanaryResult:
        """Decide about the run: deploy, canary, hold or reject; see :func:`cltr.gate`.

        Args:
            log: log to judge the run by; by default the log of the run.
            data: data set of the log; by default that of the run.
            max_loss: largest acceptable worst-case loss of NDCG, from 0 to 1.
            confidence: one-sided confidence of each bound on the gain.
            judging: further options of :func:`cltr.gate`.
        """
        own = self.config
        if log is None and not own.log:
            raise UsageError(f"{self.path}: the run was not trained on a log; give a log")
        if log is None:
            data = own.data if data is None and own.data != OWN else data
            log = own.log
        return gate(self, log=log, data=data, max_loss=max_loss, confidence=confidence, **judging)


def load(path: FileName) -> Run:
    """Open the folder of a finished run, such as ``runs/001-prpo-dr``."""
    return Run(path)


def judge_again(
    run: Run | FileName,
    *,
    data: DataLike | None,
    blend_to_loss: float | None,
    **measures: Any,
) -> Evaluation:
    """Evaluate a finished run again, possibly on other data or mixed with production."""
    result, changes = evaluate_run.evaluate_with_changes(
        run.path if isinstance(run, Run) else Path(run),
        data=named_data(data),
        blend_to_loss=blend_to_loss,
        measures={key: value for key, value in measures.items() if value is not None},
    )
    return Evaluation(result, changes=changes)
