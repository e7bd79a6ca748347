"""Fit models of users who read down the list: by EM, or in closed form."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from cltr.clicks.affine_fit import require_features, spread_of, spread_over_documents
from cltr.clicks.counts import totals
from cltr.clicks.fit_tools import (
    Convergence,
    Parameters,
    State,
    Threads,
    climb,
    document_queries,
    leap,
)
from cltr.clicks.relevance import Regression, RelevanceModel, RelevanceTable, Spread, times_log
from cltr.errors import DataError, UnsupportedError
from cltr.types import Dataset, Floats
from cltr_clickmodels.chain import ChainModel, Values
from cltr_clickmodels.counts import ChainCounts, Tails

SHARED_PRIOR, SHARED_SMOOTHING = 0.5, 1.0
"""What the numbers that all lists share are smoothed towards, and as how many observations."""
CLOSED_FORM = (
    "the last click is taken for the end of reading, which counts allow; set method=em for the "
    "likeliest parameters"
)


class Evidence(NamedTuple):
    """Expected counts, which the M-step of every model of this family needs."""

    clicks: Floats
    """``[docs]``"""
    skips: Floats
    """Read and not clicked, ``[docs]``."""
    continued: Floats
    """Clicks after which the user went on, ``[docs]`` or, if that goes by rank, ``[K]``."""
    stopped: Floats
    """Clicks after which the user left, with something below; likewise."""
    skip_continued: float
    """Skips after which the user went on."""
    skip_stopped: float
    log_likelihood: float


def expect(model: ChainModel, counts: ChainCounts, documents: Values, shared: Values) -> Evidence:
    """Make the E-step: what users read below their last click, and whether they left there."""
    from cltr_clickmodels.kernels.chain import expect_tails

    tails = _require_tails(model, counts)
    attraction, after_skip = documents["attraction"], model.after_skip(shared)
    after_click = model.after_click(documents, shared)
    key = tails.rank if model.by_rank else tails.last
    clicked = key >= 0
    goes_on = np.where(clicked, after_click[key], 1.0)
    starts = np.searchsorted(tails.queries, np.arange(len(counts.offsets)))
    with Threads(tails.below.size):
        reading, went_on, skip_continued, skip_stopped, value = expect_tails(
            starts, tails.below, tails.times, goes_on, after_skip, attraction
        )
    continued, ended = _followed(model, counts)
    on = totals(key[clicked], (tails.times * went_on)[clicked], len(ended))
    value += times_log(counts.clicks, attraction).sum()
    value += times_log(counts.skips, 1.0 - attraction).sum()
    value += times_log(continued, after_click[: len(continued)]).sum()
    value += float(times_log(np.array(counts.skips.sum()), np.array(after_skip)))
    return Evidence(
        counts.clicks,
        counts.skips + reading,
        continued + on,
        ended - on,
        counts.skips.sum() + skip_continued,
        skip_stopped,
        float(value),
    )


def certain(model: ChainModel, counts: ChainCounts) -> Evidence:
    """Count as if users stopped reading at the last click, or at the end without a click."""
    continued, ended = _followed(model, counts)
    skips = counts.skips + counts.abandoned
    return Evidence(counts.clicks, skips, continued, ended, float(skips.sum()), 0.0, np.nan)


def fit_chain(model: ChainModel, counts: ChainCounts, dataset: Dataset | None = None) -> Parameters:
    """Fit a model of this family; shared values start at the options."""
    if not counts.clicks.sum() > 0:
        raise DataError("the log has no clicks, so no click model can be fitted to it")
    shared = model.given(len(counts.ended_by_rank))
    spreads = {name: _spread(counts, name) for name in model.tables}
    by = _estimates(model, spreads, dataset) | _shared_estimates(shared)
    documents = _start(model, counts, by)
    if model.closed_form:
        documents, shared = model.maximise(certain(model, counts), documents, shared, by)
        choice = "method" in type(model).Options.model_fields
        convergence = Convergence(np.empty(0), True, (CLOSED_FORM,) if choice else ())
    else:
        documents, shared, convergence = _climb(model, counts, documents, shared, by)
    networks = {name: each.weights for name, each in by.items() if isinstance(each, Regression)}
    return Parameters(
        shared=shared,
        documents=documents,
        unseen={name: spread.mean for name, spread in spreads.items()},
        strength={name: spread.strength for name, spread in spreads.items()},
        convergence=convergence,
        networks={f"{name}/{key}": w for name, ws in networks.items() for key, w in ws.items()},
        query_ids=None if dataset is None else document_queries(dataset),
        document_ids=None if dataset is None else dataset.document_ids,
    )


def infer_chain(model: ChainModel, counts: ChainCounts) -> Values:
    """Compute the values of the counted documents; shared values do not change."""
    shared = model.shared_values(len(counts.ended_by_rank))
    fitted, smoothing = model.fitted, model.options.smoothing
    by: dict[str, RelevanceModel] = {
        name: (spread_of(fitted, name) if fitted else _spread(counts, name)).table(smoothing)
        for name in model.tables
    }
    by |= _shared_estimates(shared)
    documents = _start(model, counts, by)
    if model.closed_form:
        return model.maximise(certain(model, counts), documents, shared, by)[0]
    return _climb(model, counts, documents, shared, by, fixed=True)[0]


def _climb(
    model: ChainModel,
    counts: ChainCounts,
    documents: Values,
    shared: Values,
    by: Mapping[str, RelevanceModel],
    *,
    fixed: bool = False,
) -> tuple[Values, Values, Convergence]:
    """EM from a start; with ``fixed`` only the documents' numbers move."""
    names = list(shared)

    def unpack(state: State) -> tuple[Values, Values]:
        n = len(model.tables)
        moving = dict(zip(names, state[n:], strict=True)) if not fixed else shared
        return dict(zip(model.tables, state[:n], strict=True)), moving

    def pack(documents: Values, shared: Values) -> State:
        return (
            *(documents[name] for name in model.tables),
            *(shared[name] for name in names if not fixed),
        )

    def step(state: State) -> tuple[State, float]:
        documents, shared = unpack(state)
        evidence = expect(model, counts, documents, shared)
        value = evidence.log_likelihood
        value += sum(by[name].penalty(values) for name, values in documents.items())
        value += sum(by[name].penalty(values) for name, values in shared.items())
        return pack(*model.maximise(evidence, documents, shared, by)), value

    walk = leap if all(isinstance(each, RelevanceTable) for each in by.values()) else climb
    options = model.options
    summit = walk(
        step, pack(documents, shared), iterations=options.iterations, tolerance=options.tolerance
    )
    return *unpack(summit.state), summit.convergence


def _start(model: ChainModel, counts: ChainCounts, by: Mapping[str, RelevanceModel]) -> Values:
    """Where EM starts: every document at the mean."""
    nothing = np.zeros(counts.n_documents)
    return {name: by[name].update(nothing, nothing) for name in model.tables}


def _estimates(
    model: ChainModel, spreads: Mapping[str, Spread], dataset: Dataset | None
) -> dict[str, RelevanceModel]:
    options = model.options
    if options.relevance == "table":
        return {name: spread.table(options.smoothing) for name, spread in spreads.items()}
    features = require_features(dataset)
    return {
        name: Regression(features, prior=spread.mean, hidden=options.hidden)
        for name, spread in spreads.items()
    }


def _shared_estimates(shared: Values) -> dict[str, RelevanceModel]:
    return {name: RelevanceTable(SHARED_SMOOTHING, SHARED_PRIOR) for name in shared}


def _spread(counts: ChainCounts, name: str) -> Spread:
    """Of attraction or satisfaction over documents, were reading to end at the last click."""
    if name == "attraction":
        read = counts.clicks + counts.skips + counts.abandoned
        return spread_over_documents(counts.clicks, read)
    return spread_over_documents(counts.ended, counts.ended + counts.continued)


def _followed(model: ChainModel, counts: ChainCounts) -> tuple[Floats, Floats]:
    if model.by_rank:
        return counts.continued_by_rank, counts.ended_by_rank
    return counts.continued, counts.ended


def _require_tails(model: ChainModel, counts: ChainCounts) -> Tails:
    if counts.tails is None:
        raise UnsupportedError(
            f"click model '{model.name}' needs what was shown below last clicks, and these counts "
            "were made for a closed form; count the log again with this model"
        )
    return counts.tails
