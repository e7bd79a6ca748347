"""What a component returns, checked: shape, type, finite, in range. Each check names a problem.

A check has the parameters of the method that it is for, after what the method returned. It gives
one clause, such as ``must be 1,666 finite numbers, got 1,665``, or nothing.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from cltr import extensions, interfaces
from cltr.documents import Batch, Documents
from cltr.kernels.score_range import LARGEST
from cltr.types import Affine, ClickData, Dataset, Floats, Lists

Check = Callable[..., str]
ROUNDING = 1e-6
"""By how much a probability may leave [0, 1]."""


def numbers(
    found: Any, shape: tuple[int, ...], *, low: float = -np.inf, high: float = np.inf
) -> str:
    """Whether there are so many finite numbers in a range.

    Args:
        found: what a component returned.
        shape: that it must have.
        low: the least that a number may be.
        high: the most that a number may be.

    Example:
        >>> numbers(np.zeros(1665), (1666,))
        'must be 1,666 finite numbers, got 1,665'
        >>> numbers(np.array([0.5, np.nan]), (2,))
        'must be 2 finite numbers, got 1 that is not finite, the first at index 1'
        >>> numbers(np.array([0.5, 3.0]), (2,), low=0.0, high=1.0)
        'must be 2 finite numbers from 0 to 1, got 3 at index 1'
        >>> numbers(np.zeros(2), (2,))
        ''
    """
    if not isinstance(found, np.ndarray):
        return _must(shape, low, high, f"got {_named(found)}")
    if found.shape != shape:
        return _must(shape, low, high, f"got {_times(found.shape)}")
    if found.dtype != np.float64:
        return _must(shape, low, high, f"got {found.dtype}; use float64")
    finite = np.isfinite(found)
    if not finite.all():
        bad = np.flatnonzero(~finite)
        many = "that is" if len(bad) == 1 else "that are"
        return _must(
            shape, low, high, f"got {len(bad):,} {many} not finite, the first at index {bad[0]}"
        )
    if low > -np.inf or high < np.inf:
        outside = (found < low - ROUNDING) | (found > high + ROUNDING)
        if outside.any():
            first = int(np.flatnonzero(outside)[0])
            return _must(shape, low, high, f"got {found.flat[first]:.4g} at index {first}")
    return ""


def number(found: Any) -> str:
    """Whether it is one finite number."""
    if isinstance(found, int | float | np.floating | np.integer) and np.isfinite(found):
        return ""
    return f"must be one finite number, got {_named(found)}"


def _must(shape: tuple[int, ...], low: float, high: float, got: str) -> str:
    bounds = f" from {low:g} to {high:g}" if low > -np.inf and high < np.inf else ""
    return f"must be {_times(shape)} finite numbers{bounds}, {got}"


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(f"{length:,}" for length in shape) or "a single number"


def _named(found: Any) -> str:
    return repr(found) if found is None or isinstance(found, int | float) else type(found).__name__


def _anything(found: Any, *arguments: Any, **options: Any) -> str:
    del found, arguments, options
    return ""


def _mu(found: Any, data: ClickData, *, propensity_clip: float = 0.0) -> str:
    del propensity_clip
    return numbers(found, (len(data.statistics.impressions),))


def _elementwise(found: Any, weights: Any, *others: Any) -> str:
    """As many numbers as weights; what is computed for autograd is not looked at."""
    del others
    return numbers(found, weights.shape) if isinstance(weights, np.ndarray) else ""


def _penalty(found: Any, mean_divergence: float) -> str:
    del mean_divergence
    return number(found)


def _share(found: Any, weights: Floats, logging_weights: Floats, lists: Lists) -> str:
    del weights, logging_weights
    return numbers(found, (len(lists.lengths),), low=0.0, high=1.0)


def _diagnostics(found: Any, *arguments: Any) -> str:
    del arguments
    if not isinstance(found, Mapping):
        return f"must be numbers by name, got {_named(found)}"
    wrong = [f"{key}: {_named(value)}" for key, value in found.items() if number(value)]
    return f"must be finite numbers by name, got {wrong[0]}" if wrong else ""


def _probabilities(found: Any, relevance: Floats, *arguments: Any) -> str:
    """Probabilities where something is shown; what stands elsewhere does not matter."""
    del arguments
    if isinstance(found, np.ndarray) and found.shape == relevance.shape:
        found = np.where(np.isnan(relevance), 0.0, found)
    return numbers(found, relevance.shape, low=0.0, high=1.0)


def _conditional(found: Any, relevance: Floats, *arguments: Any) -> str:
    return "" if found is None else _probabilities(found, relevance, *arguments)


def _clicks(found: Any, relevance: Floats, *arguments: Any) -> str:
    del arguments
    if isinstance(found, np.ndarray) and found.dtype == np.bool_ and found.shape == relevance.shape:
        return ""
    what = f"{_times(found.shape)} of {found.dtype}" if isinstance(found, np.ndarray) else ""
    return f"must be {_times(relevance.shape)} Booleans, got {what or _named(found)}"


def _affine(found: Any, top_k: int) -> str:
    if found is None:
        return ""
    if not (isinstance(found, tuple) and len(found) == len(Affine._fields)):
        return f"must be Affine(examination, trust) or None, got {_named(found)}"
    examination, trust = found
    if problem := numbers(examination, (top_k,)):
        return f"examination {problem}"
    for what, chance in (("trust", trust), ("examination + trust", examination + trust)):
        if problem := numbers(chance, (top_k,), low=0.0, high=1.0):
            return f"{what} {problem}"
    if not examination.any():
        return "examination must not be 0 at every rank: then clicks say nothing of relevance"
    return ""


def _fit(found: Any, counts: Any, dataset: Dataset | None = None) -> str:
    """Parameters whose arrays have a value, and an id, for each document."""
    del counts
    tables = getattr(found, "documents", None)
    if not isinstance(tables, Mapping):
        return f"must return Parameters, got {_named(found)}"
    n = dataset.n_documents if dataset else len(next(iter(tables.values()), ()))
    for name, values in tables.items():
        if problem := numbers(values, (n,)):
            return f"documents[{name!r}] {problem}"
    for name in ("query_ids", "document_ids"):
        ids = getattr(found, name, None)
        if tables and ids is not None and len(ids) != n:
            return f"{name} must be {n:,}, one for each document, got {len(ids):,}"
    return ""


def _inferred(found: Any, counts: Any, dataset: Dataset | None = None) -> str:
    del counts
    if found is None or dataset is None:
        return ""
    return numbers(found, (dataset.n_documents,))


def _gradient(found: Any, batch: Batch, *arguments: Any) -> str:
    del arguments
    return numbers(found, batch.scores.shape)


def _weights(found: Any, scores: Floats, lists: Lists, rank_weights: Floats) -> str:
    del lists, rank_weights
    return numbers(found, scores.shape)


def _metric(found: Any, policy: Any, *, top_k: int) -> str:
    """A number for each judged query; what stands at others does not matter."""
    del top_k
    if found is None:
        return ""
    judged = policy.dataset.judged_queries
    if isinstance(found, np.ndarray) and found.shape == judged.shape:
        found = np.where(judged, found, 0.0)
    return numbers(found, judged.shape)


def _exported(found: Any, path: Any, documents: Documents) -> str:
    del path
    return numbers(found, (len(documents),))


def _sql(found: Any, *arguments: Any) -> str:
    del arguments
    return "" if isinstance(found, str) else f"must be a SQL query, got {_named(found)}"


def _arrays(found: Any) -> str:
    """A state: arrays by name."""
    if isinstance(found, Mapping) and all(
        isinstance(name, str) and isinstance(one, np.ndarray) and one.dtype != object
        for name, one in found.items()
    ):
        return ""
    return f"must be a dictionary of arrays by name, got {type(found).__name__}"


def scores_problem(found: Any, documents: Documents) -> str:
    """Whether a model gives every document a finite score; if not, where to look for the cause."""
    problem = numbers(found, (len(documents),), low=-LARGEST, high=LARGEST)
    right_form = isinstance(found, np.ndarray) and found.shape == (len(documents),)
    if not problem or not right_form or found.dtype != np.float64:
        return problem
    features = np.asarray(documents.features)
    bad = np.argwhere(~np.isfinite(features))
    if len(bad):
        row, column = bad[0]
        value = features[row, column]
        return (
            f"{problem}; feature {column + 1} of the document in row {documents.rows[row]:,} of "
            f"the data set is {value}: replace what is not finite, then import the data again"
        )
    largest = float(np.abs(features).max(initial=0.0))
    return (
        f"{problem}; features are finite (up to {largest:.3g} in size), so the weights are too "
        "large: use a smaller learning rate, or features of a smaller scale"
    )


CHECKS: dict[type[Any], dict[str, Check]] = {
    interfaces.ClickModel: {
        "probabilities": _probabilities,
        "conditional_probabilities": _conditional,
        "sample": _clicks,
        "draw_context": _anything,
        "affine": _affine,
    },
    interfaces.Fittable: {"count": _anything, "fit": _fit, "infer": _inferred},
    interfaces.RewardFunction: {"fit": _anything, "mu": _mu},
    interfaces.Estimator: {
        "prepare": _anything,
        "gain": _elementwise,
        "slope": _elementwise,
        "diagnostics": _diagnostics,
    },
    interfaces.Penalised: {
        "divergence": _elementwise,
        "divergence_slope": _elementwise,
        "penalty": _penalty,
        "penalty_slope": _penalty,
    },
    interfaces.Enforced: {"served_share": _share},
    interfaces.Ranker: {"gradient": _gradient},
    interfaces.LogReader: {"select": _sql},
    extensions.Metric: {"values": _metric},
    extensions.Exporter: {"write": _anything, "scores": _exported},
    extensions.DataLayout: {"find": _anything},
    extensions.LogQuestion: {"ask": _anything},
    extensions.Command: {"build": _anything},
}
"""By contract and method."""
POLICY_CHECKS: dict[str, Check] = {"expected_weights": _weights}
MODEL_CHECKS: dict[str, Check] = {
    "scores": scores_problem,
    "state": _arrays,
    "training_state": _arrays,
    "start_from": _anything,
}
