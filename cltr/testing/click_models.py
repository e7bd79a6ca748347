"""Conformance of click models."""

import numpy as np

from cltr.clicks.fit_tools import Parameters
from cltr.clicks.simulation import simulate_sessions
from cltr.errors import CltrError, UnsupportedError
from cltr.interfaces import ClickModel, Fittable
from cltr.testing.demands import check_component, demand, unchanged
from cltr.testing.tiny_data import TOP_K, tiny_dataset
from cltr.types import ClickLog, Dataset, Floats


def check_click_model(model: ClickModel, *, reversed_users: bool = False) -> None:
    """Probabilities are probabilities, clicks follow them, affine is affine, fits are fits.

    Args:
        model: the click model.
        reversed_users: whether its users click on what is not relevant, and mean to.
    """
    check_component(model)
    rng = np.random.default_rng(0)
    relevance = rng.random((4000, TOP_K))
    relevance[::3, 3:] = np.nan  # shorter lists
    context = model.draw_context(len(relevance), rng)
    shown = ~np.isnan(relevance)
    with unchanged(relevance=relevance):
        probabilities = model.probabilities(relevance, context)
        _check_probabilities(probabilities, shown)
        clicks = model.sample(relevance, context, np.random.default_rng(1))
    again = model.sample(relevance, context, np.random.default_rng(1))
    demand(clicks.shape == relevance.shape and clicks.dtype == np.bool_, "clicks are not Boolean")
    demand(np.array_equal(clicks, again), "the same seed gives other clicks")
    _check_rates(clicks, probabilities, shown)
    _check_direction(model, rng, reversed_users=reversed_users)
    _check_affine(model, probabilities, relevance)
    if isinstance(model, Fittable):
        _check_fit(model)


def _check_probabilities(probabilities: Floats, shown: np.ndarray) -> None:
    demand(probabilities.shape == shown.shape, "probabilities have another shape than lists")
    demand(probabilities.dtype == np.float64, f"probabilities: {probabilities.dtype}, not float64")
    demand(not np.isnan(probabilities[shown]).any(), "a click probability is NaN")
    inside = (probabilities[shown] >= 0) & (probabilities[shown] <= 1)
    demand(bool(inside.all()), "a click probability lies outside [0, 1]")


def _check_direction(model: ClickModel, rng: np.random.Generator, *, reversed_users: bool) -> None:
    """More relevance, no fewer clicks: on the first rank, where nothing else matters."""
    context = model.draw_context(500, rng)
    low, high = (
        model.probabilities(np.full((500, TOP_K), value), context)[:, 0].mean()
        for value in (0.1, 0.9)
    )
    rises = low >= high if reversed_users else high >= low
    demand(
        bool(rises),
        f"relevance 0.9 has a click probability of {high:.3f} at the first rank, and relevance "
        f"0.1 one of {low:.3f}: the sign is wrong",
    )


def _check_affine(model: ClickModel, probabilities: Floats, relevance: Floats) -> None:
    affine = model.affine(TOP_K)
    if affine is None:
        return
    examination, trust = affine
    shown = ~np.isnan(relevance)
    demand(examination.shape == trust.shape == (TOP_K,), "affine has another length than top_k")
    gaps = np.where(shown, probabilities - relevance * examination - trust, 0.0)
    for which in (shown & (relevance < 0.5), shown & (relevance >= 0.5)):
        gap = np.abs(gaps.sum(0, where=which) / which.sum(0)).max()
        demand(bool(gap < 0.05), f"affine disagrees with probabilities by {gap:.3f} at a rank")


def _check_rates(clicks: np.ndarray, probabilities: Floats, shown: np.ndarray) -> None:
    """Clicks come as often as they should, by rank, within five standard errors."""
    p = np.where(shown, probabilities, 0)
    n = shown.sum(0)
    rate, expected = (clicks & shown).sum(0) / n, p.sum(0) / n
    error = np.sqrt(np.maximum((p * (1 - p)).sum(0), 1)) / n
    off = np.abs(rate - expected) / error
    demand(
        bool((off < 5).all()),
        f"click rates by rank {rate.round(3)} do not follow probabilities {expected.round(3)}",
    )


def _check_fit(model: Fittable) -> None:
    """Counts add up, a fit predicts the clicks that it saw, and relevance is inferred."""
    demand(
        model.needs_sessions == (type(model).count is not Fittable.count),
        "a model declares needs_sessions if, and only if, it counts in its own way",
    )
    data = tiny_dataset(30)
    log = _drawn(model, data)
    half = len(log) // 2
    parts = [_rows(log, slice(None, half)), _rows(log, slice(half, None))]
    with unchanged(clicks=log.clicks, documents=log.documents):
        whole = model.count(log, data.offsets)
        total = model.count(parts[0], data.offsets) + model.count(parts[1], data.offsets)
    found = _fitted(model, whole, data)
    from_whole = model.predict(log)
    _fitted(model, total, data)
    demand(
        np.allclose(from_whole, model.predict(log), atol=1e-6, equal_nan=True),
        "counts of parts do not add up to those of the whole",
    )
    shown = log.documents >= 0
    _check_probabilities(np.where(shown, from_whole, 0.0), shown)
    rate, expected = (
        np.where(shown, values, 0.0).sum(0) / shown.sum(0) for values in (log.clicks, from_whole)
    )
    demand(
        bool((np.abs(rate - expected) < 0.05).all()),
        f"the fit predicts click rates by rank {expected.round(3)}; they are {rate.round(3)}",
    )
    _check_relevance(model, data)
    _check_parameters(found, data)
    inferred = model.infer(whole, data)
    if inferred is not None:
        demand(inferred.shape == (data.n_documents,), "infer is not one number per document")
        demand(bool(np.isfinite(inferred).all()), "infer gives NaN or infinite values")
    model.fitted = None


def _check_relevance(model: Fittable, data: Dataset) -> None:
    try:
        relevance = model.relevance()
    except UnsupportedError:
        return  # a baseline that knows none
    demand(relevance.shape == (data.n_documents,), "relevance is not one number per document")
    demand(bool(np.isfinite(relevance).all()), "relevance has NaN or infinite values")


def _fitted(model: Fittable, counts: object, data: Dataset) -> Parameters:
    model.fitted = None
    try:
        found = model.fit(counts, data)
    except CltrError as error:
        raise AssertionError(f"it cannot be fitted to its own clicks: {error}") from error
    demand(isinstance(found, Parameters), f"fit returns {type(found).__name__}, not Parameters")
    demand(model.fitted is found, "fit does not keep what it found in 'fitted'")
    return found


def _check_parameters(found: Parameters, data: Dataset) -> None:
    """What a file of the model can hold: a number, and an id, for each document."""
    for name, values in found.documents.items():
        demand(len(values) == data.n_documents, f"documents[{name!r}] is not one per document")
        demand(name in found.unseen, f"'unseen' has no value of {name!r}")
    for what, ids in (("query_ids", found.query_ids), ("document_ids", found.document_ids)):
        demand(ids is None or len(ids) == data.n_documents, f"{what} is not one per document")


def _drawn(model: Fittable, data: Dataset) -> ClickLog:
    """Interactions of the model's own users on the tiny data set."""
    scores, rng = data.features[:, 1].astype(np.float64), np.random.default_rng(2)
    (log,) = simulate_sessions(data, scores, model, n=6000, top_k=TOP_K, rng=rng)
    return log


def _rows(log: ClickLog, rows: slice) -> ClickLog:
    context = {name: column[rows] for name, column in log.context.items()}
    return ClickLog(log.queries[rows], log.documents[rows], log.clicks[rows], context, log.lists)
