"""``cltr.explore``."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from cltr.api.ingest import ingest
from cltr.api.shown import Shown
from cltr.api.sources import DataLike, FileName, LogLike, dataset_of, file_of, named_data
from cltr.data.loading import DEMO, find_dataset
from cltr.errors import OptionError, UsageError
from cltr.experiment.explore_log import ExplorationPlan, explore_log
from cltr.exposure.logging_policy import LoggingPolicy, find_logging_policy
from cltr.files.claims import hidden_folder
from cltr.files.reserving import reserve_in
from cltr.files.storage import finite, write_beside
from cltr.logs.log_file import open_log
from cltr.report.explore_tables import explore_tables, folder_readme
from cltr.report.rendering import Tables
from cltr.serving import ServingRule
from cltr.types import Dataset

RULE, RESULT, README = "serving.json", "result.json", "README.md"


class ExplorationResult(Shown):
    """A policy that explores, with its certificate and serving rule.

    Args:
        rule: serving rule with the stored rankings and shares of each query.
        result: all numbers, as ``--json`` prints them.
    """

    def __init__(self, rule: ServingRule, result: Mapping[str, Any]) -> None:
        self.rule, self.result = rule, result

    @property
    def loss(self) -> float:
        """Worst-case loss of mean NDCG, whatever users find relevant, by this log's traffic."""
        return float(self.result["worst_case"]["mean"])

    @property
    def largest_loss(self) -> float:
        """Worst-case loss of the query that can lose most."""
        return float(self.result["worst_case"]["largest_query"])

    def _rows(self) -> Sequence[Mapping[str, Any]]:
        return [{"policy": who, **self.result[who]} for who in ("before", "after")]

    def _tables(self, width: int) -> Tables:
        del width
        return explore_tables(self.result)


def explore(
    log: LogLike,
    *,
    max_loss: float = 0.01,
    data: DataLike | None = None,
    production: FileName | None = None,
    out: FileName | None = None,
) -> ExplorationResult:
    """Find the policy that explores best at a certified loss. Same as ``cltr explore``.

    Args:
        log: a log file, a :class:`Log`, or a table in memory, which is ingested first.
        max_loss: largest acceptable worst-case loss of NDCG of any query, from 0 to 1; 0.01 is one
            point.
        data: data set of the log. Not needed for the demo data, or if the log has its own
            documents.
        production: a file with the columns query, document and score.
        out: folder for the serving rule, a result file and a README; by default nothing is written.
    """
    if not 0 < max_loss <= 1:
        raise OptionError(
            f"--max-loss is {max_loss:g}; it must lie above 0 and not above 1, 0.01 for one point "
            "of NDCG"
        )
    folder = None if out is None else _new_folder(Path(out))
    with reserve_in(folder, RESULT):
        with _as_file(log, data) as path:
            found = _explore(path, data, None if production is None else Path(production), max_loss)
        rule = found.rule()
        named = DEMO if data is None and not found.dataset.shared else named_data(data)
        result = {
            "log": str(path if file_of(log) else "data frame"),
            "data": named if isinstance(named, str) else "",
            **_told(found),
        }
        if folder is not None:
            result["files"] = _write(folder, rule, result)
    return ExplorationResult(rule, result)


@contextmanager
def _as_file(log: LogLike, data: DataLike | None) -> Iterator[Path]:
    """A log's file; a table in memory is ingested into one that is removed at the end."""
    path = file_of(log)
    if path is not None:
        yield path
        return
    with hidden_folder() as folder:
        ingest(log, out=folder / "log.h5", data=data, progress=False)
        yield folder / "log.h5"


def _new_folder(path: Path) -> Path:
    if (path / RULE).exists():
        raise UsageError(f"{path}: holds a {RULE} already; choose another folder (--out)")
    if path.is_file():
        raise UsageError(f"{path}: is a file; --out needs a folder")
    return path


def _explore(
    path: Path, data: DataLike | None, production: Path | None, max_loss: float
) -> ExplorationPlan:
    log = open_log(path)
    if log.lists is not None:
        if data is not None:
            raise UsageError(f"{path}: the log was ingested without a data set; leave out --data")
        dataset: Dataset = log.lists
    else:
        dataset = dataset_of(data) or find_dataset(DEMO)
        log = open_log(path, dataset)
    scores = log.scores
    if production is not None:
        from cltr.logs.score_files import read_scores

        scores = read_scores(production, dataset)
    policy = find_logging_policy(
        dataset,
        log.statistics,
        scores=scores,
        propensities=log.propensities,
        computed=log.computed,
    )
    return explore_log(dataset, log.statistics, policy, max_loss=max_loss)


def _told(found: ExplorationPlan) -> dict[str, Any]:
    production = found.production
    losses = found.losses[found.explored]
    return {
        "max_loss": found.max_loss,
        "top_k": found.top_k,
        "n_interactions": int(found.log.displays.sum()),
        "production": _production(production, found.dataset),
        "queries": int(found.explored.sum()),
        "queries_with_production": int((~found.explored).sum()),
        "rankings": sum(map(len, found.shares)),
        "worst_case": {
            "metric": f"ndcg@{found.top_k}",
            "mean": found.loss,
            "largest_query": float(losses.max(initial=0.0)),
            "query_weights": "traffic",
            "exposure": production.known_by,
        },
        "before": vars(found.overlap(production.chances)),
        "after": vars(found.overlap(found.chances)),
        "files": [],
    }


def _production(policy: LoggingPolicy, dataset: Dataset) -> dict[str, Any]:
    return {
        "known_by": policy.known_by,
        "impressions_elsewhere": policy.away,
        "rejected": policy.rejected,
        "fixed_rankings": policy.deterministic(dataset),
    }


def _write(folder: Path, rule: ServingRule, result: Mapping[str, Any]) -> list[str]:
    files = [folder / name for name in (RULE, README, RESULT)]
    text = json.dumps(finite({**result, "files": [str(file) for file in files]}), indent=2)
    for file, content in ((files[1], folder_readme(result)), (files[2], f"{text}\n")):
        with write_beside(file, wait=True) as temporary:
            temporary.write_text(content, encoding="utf-8")
    with write_beside(files[0], wait=True) as temporary:  # last: a folder with a rule is whole
        rule.save(temporary)
    return [str(file) for file in files]
