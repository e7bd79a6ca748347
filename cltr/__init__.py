"""Safe counterfactual learning to rank from clicks.

The public names are resolved on first use, so that ``import cltr`` costs nothing:

    >>> import cltr
    >>> cltr.PRPO(clip=0.5)
    PRPO(clip=0.5, low=None, high=None, rollback=None)
"""

from importlib import import_module
from typing import Any

_PUBLIC = {
    "ClickModel": "interfaces",
    "RewardFunction": "interfaces",
    "Estimator": "interfaces",
    "Ranker": "interfaces",
    "Scorer": "interfaces",
    "LogReader": "interfaces",
    "Metric": "extensions",
    "Exporter": "extensions",
    "DataLayout": "extensions",
    "LogQuestion": "extensions",
    "Command": "extensions",
    "Options": "options",
    "hookimpl": "hookspecs",
    "CltrError": "errors",
    "Dataset": "types",
    "ClickLog": "types",
    "ClickStatistics": "types",
    "ClickData": "types",
    "Exposure": "types",
    "Rewards": "types",
    "Lists": "types",
    "Affine": "types",
    "Plain": "objectives.plain",
    "PRPO": "objectives.prpo",
    "Band": "objectives.band",
    "PlackettLuce": "policies",
    "Deterministic": "policies",
    "Experiment": "experiment.experiment",
    "train": "api.train",
    "simulate": "api.train",
    "ingest": "api.ingest",
    "ingest_sql": "api.ingest",
    "check": "api.check",
    "fit": "api.fit",
    "evaluate": "api.evaluate",
    "rank": "api.rank",
    "gate": "api.candidates",
    "explore": "api.explore",
    "load": "api.run",
    "make_report": "api.report",
    "compare": "api.compare",
    "Run": "api.run",
    "Evaluation": "api.run",
    "Ranking": "api.rank",
    "CandidateEvaluation": "api.verdicts",
    "GateVerdict": "api.verdicts",
    "CanaryResult": "api.verdicts",
    "ExplorationResult": "api.explore",
    "Log": "api.log",
    "LogCheck": "api.log",
    "FitReport": "api.fit_report",
    "Comparison": "api.comparison",
    "ClickRanker": "api.click_ranker",
    "open_dataset": "data.loading",
    "read_dataset": "data.frames",
    "read_log": "logs.in_memory",
    "read_statistics": "logs.log_file",
}
__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("cltr")
    if name in _PUBLIC:
        return getattr(import_module(f"cltr.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'cltr' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
