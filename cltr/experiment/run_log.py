"""What a run takes from a log: its documents, clicks and production; and what it assumes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cltr.checks.contradiction import contradiction
from cltr.errors import DataError, OptionError, UnsupportedError, UsageError
from cltr.experiment.components import compose
from cltr.experiment.config import AUTO, RunConfig
from cltr.exposure.production_ranker import (
    LARGEST_MISFIT,
    Production,
    count_rank_distribution,
    misfit,
)
from cltr.interfaces import ClickModel
from cltr.logs.log_file import LogFile, open_log, own_lists, shape_of, stored_lists
from cltr.options import Choice
from cltr.policies import PlackettLuce
from cltr.training.scorers import TableScorer
from cltr.types import LOGGED_SPLITS, ClickStatistics, Dataset, Floats

OWN = "log"
"""What a run file says for the data of a log that stands alone."""


@dataclass(frozen=True)
class RunLog:
    """A log, ready for a run."""

    production: Production
    statistics: dict[str, ClickStatistics]
    users: str | None
    """Whose clicks they are, if the log says so."""
    assumptions: tuple[str, ...] = ()
    """What the results rest on, one sentence each."""
    simulated: bool = False
    """Whether its users were simulated: then queries came equally often."""


def fit_to_log(config: RunConfig) -> RunConfig:
    """What one did not ask for, as the log needs it.

    As many ranks as the log shows and the click model has values for, ten at most; and a score per
    document where the log stands alone, without features.
    """
    if not config.log:
        return config
    shown, alone = shape_of(Path(config.log))
    asked = config.model_fields_set
    fitting: dict[str, Any] = {}
    if "top_k" in asked:
        _check_shown(config.top_k, shown)
    else:
        fitting["top_k"] = _known_ranks(compose(config).click_model, min(shown, USUAL_RANKS))
    if alone and "scorer" not in asked:
        fitting["scorer"] = Choice(name=TableScorer.name)
    return config.model_copy(update=fitting)


USUAL_RANKS = 10
"""Ranks of a log that a run is about, unless one asks for another number."""


def _known_ranks(click_model: ClickModel, most: int) -> int:
    """The most ranks, up to a bound, for which a click model has values."""
    for top_k in range(most, 1, -1):
        try:
            click_model.affine(top_k)
        except OptionError:
            continue
        except UnsupportedError:  # it has no values by rank
            return most
        return top_k
    return 1


def own_data(config: RunConfig) -> Dataset | None:
    """The lists of a log that stands alone; None if the run has a data set."""
    if not config.log:
        if config.data == OWN:
            raise UsageError(
                f"--data {OWN} stands for the documents of a log; give the log too (--log)"
            )
        return None
    path = Path(config.log)
    lists = stored_lists(path)
    if lists is None and config.data != OWN:
        return None
    if config.data not in ("demo", OWN):
        raise UsageError(
            f"{path}: the log was ingested without a data set; leave out --data, or ingest the log "
            f"again with --data {config.data}"
        )
    return own_lists(lists, path)


def open_run_log(config: RunConfig, dataset: Dataset, click_model: ClickModel) -> RunLog:
    """The log of a run: who served it is told by scores, by logged propensities, or by counts."""
    path = Path(config.log)
    log = open_log(path, dataset)
    scores, where = log.scores, "the log"
    if config.production_scores:
        from cltr.logs.score_files import read_scores

        scores, where = read_scores(Path(config.production_scores), dataset), "the score file"
    statistics = dict(log.statistics)
    notes = []
    way: str = config.exposure
    simulated = "format" not in log.description
    if way == "auto":
        way, note = _best_way(log, scores, dataset, where=where, trusted=simulated)
        notes += [note] if note else []
    production = _production(path, log, scores, dataset, way, simulated=simulated)
    notes += _notes(log, production, where)
    if not simulated and config.click_model.name != AUTO:  # else the fitted one is told later
        notes.append(_assumed(click_model, log.statistics["train"], path))
    shown = statistics["train"].top_k
    if config.top_k < shown and not simulated:
        notes.append(f"the run uses the first {config.top_k} of the log's {shown} ranks")
    users = log.description.get("users")
    return RunLog(production, statistics, users, tuple(notes), simulated)


def _best_way(
    log: LogFile, scores: Floats | None, dataset: Dataset, *, where: str, trusted: bool
) -> tuple[str, str]:
    """The best that is known of exposure, and what must be said of it."""
    if log.computed:  # of all policies that served it; production's scores are of one of them
        return "logged", ""
    if scores is not None:
        away = 0.0 if trusted else _misfit(log, scores, dataset)
        if away <= LARGEST_MISFIT:
            return "exact", ""
        note = (
            f"production's scores in {where} do not explain what was shown: {away:.0%} of the "
            "impressions are in other places than rankings drawn from these scores "
            "(Plackett-Luce) would have; so exposure is not computed from them"
        )
        return ("logged" if log.propensities is not None else "counted"), note
    return ("logged" if log.propensities is not None else "counted"), ""


def _misfit(log: LogFile, scores: Floats, dataset: Dataset) -> float:
    statistics, lists = log.statistics["train"], dataset.part("train").lists
    chances = PlackettLuce().rank_distribution(
        scores[dataset.documents_of("train")], lists, statistics.top_k
    )
    return misfit(chances, statistics)


def _production(
    path: Path, log: LogFile, scores: Floats | None, dataset: Dataset, way: str, *, simulated: bool
) -> Production:
    if way == "logged":
        if log.propensities is None:
            raise DataError(
                f"{path}: has no logged propensities; name their column when ingesting "
                "(--propensity-column), or use --exposure counted"
            )
        return Production(
            scores,
            rank_distribution=log.propensities,
            by_part=log.part_propensities,
            source="logged",
        )
    if way == "counted" and (scores is None or not simulated):
        counted = count_rank_distribution(dataset, dict(log.statistics))
        by_part = {}
        if "loggers" in log.description and log.lists is not None:  # their shares differ by part
            by_part = {
                split: count_rank_distribution(dataset, {split: part})
                for split, part in log.statistics.items()
            }
        return Production(scores, rank_distribution=counted, by_part=by_part, source="counted")
    if scores is None:
        raise DataError(
            f"{path}: has no production scores; give them with --production FILE, or use "
            "--exposure counted"
        )
    return Production(scores, source=way)


def _notes(log: LogFile, production: Production, where: str) -> Iterator[str]:
    if "format" not in log.description:  # simulated: all is known
        return
    logged = (
        "production's exposure comes from logged propensities; it is 0 where nothing was logged"
    )
    if log.computed:
        logged = (
            "production's exposure is computed from the scores and shares in the records of "
            "requests"
        )
    yield {
        "exact": (
            f"production's exposure is computed from its scores ({where}), as rankings drawn "
            "from them (Plackett-Luce)"
        ),
        "logged": logged,
        "counted": "production's exposure is counted from the log: a document that was not shown "
        "counts as one that production never shows",
    }[production.source]
    if log.description.get("loggers"):
        names = ", ".join(f"'{name}'" for name in log.description["loggers"])
        yield f"production is a mixture of {names}, by their shares of each query's traffic"
    if log.description.get("single_impressions"):
        yield "rows are single impressions; cltr assumes the fewest lists that can hold them"
    if log.lists is not None:
        yield "the candidates of a query are the documents that the log has for it"


def _assumed(click_model: ClickModel, part: ClickStatistics, path: Path) -> str:
    wrong = contradiction(click_model, part.impressions.sum(0), part.clicks.sum(0))
    return f"the estimates assume that clicks follow the click model '{click_model.name}'" + (
        f". The clicks contradict it: {wrong}. Fit one: cltr fit --log {path}" if wrong else ""
    )


def _check_shown(top_k: int, shown: int) -> None:
    if shown < top_k:
        raise UsageError(
            f"--top-k is {top_k}, but the log shows {shown} ranks; use --top-k {shown} or less"
        )


def cut_clicks(clicks: Mapping[str, ClickStatistics], top_k: int) -> dict[str, ClickStatistics]:
    """The ranks that the run is about; what was shown below them counts as not shown."""
    for split, part in clicks.items():
        _check_shown(top_k, part.top_k)
        if part.n_interactions == 0 and split in LOGGED_SPLITS:
            raise DataError(f"the log has no interactions on the {split} queries")
    kept = slice(top_k)
    return {
        split: replace(part, impressions=part.impressions[:, kept], clicks=part.clicks[:, kept])
        for split, part in clicks.items()
        if part.n_interactions
    }
