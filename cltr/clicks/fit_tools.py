"""Fitting a click model: what may be set, how the climb goes, what it leaves."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from cltr.errors import DataError
from cltr.options import Options
from cltr.types import Dataset, Floats, Integers

Addable = TypeVar("Addable")
State: TypeAlias = tuple[Floats, ...]
"""Parameters of a model on the way, all of them probabilities."""
Step: TypeAlias = Callable[[State], tuple[State, float]]
"""One step of EM: the next state, and the objective of the state that it was given."""

NATS = 1e4
"""Added to the objective when its gain is judged: on a small log, 0.001 decides nothing."""
SMALL = 200_000
"""Numbers to go through, below which work is small."""


class FitOptions(Options):
    """What every model that can be fitted takes; inherit, and add the model's own values."""

    smoothing: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["auto"] = Field(
        "auto",
        description="fit: impressions that the mean relevance counts for in each document's "
        "estimate; larger trusts clicks less; 'auto' takes it from the spread of the "
        "documents.",
    )
    relevance: Literal["table", "regression"] = Field(
        "table",
        description=(
            "fit: table estimates a number for each query and document, regression "
            "predicts it from features."
        ),
    )
    hidden: tuple[int, ...] = Field(
        (),
        description=(
            "fit: widths of the regression's hidden layers; empty is a linear regression."
        ),
    )
    iterations: int = Field(1000, ge=1, description="fit: largest number of EM steps.")
    tolerance: float = Field(
        1e-7,
        ge=0,
        description=("fit: stop when a step improves the objective by less than this share."),
    )


@dataclass(frozen=True)
class Convergence:
    """How a fit went."""

    objective: Floats
    """Penalised log-likelihood, step by step; it never falls."""
    converged: bool
    """Whether it stopped because there was little left to gain."""
    notes: tuple[str, ...] = ()
    """What the user must know of the estimates, one sentence each."""


@dataclass(frozen=True)
class Parameters:
    """What a fit found: numbers that all lists share, and numbers of each document."""

    shared: Mapping[str, Floats]
    """By rank, by cell, or single numbers."""
    documents: Mapping[str, Floats]
    """``[docs]`` each, in the layout of the lists that were counted."""
    unseen: Mapping[str, float]
    """What a document that was never shown gets, for each of ``documents``."""
    strength: Mapping[str, float]
    """How many impressions that is worth beside those that a document has."""
    convergence: Convergence
    networks: Mapping[str, Floats] = field(default_factory=dict)
    """Weights of regressions by ``name/layer``, where relevance comes from features."""
    query_ids: NDArray[Any] | None = None
    """Of each document, ``[docs]``, where they are known; with ``document_ids``."""
    document_ids: NDArray[Any] | None = None
    compared: Floats | None = None
    """Impressions behind the values of each rank, ``[K]``; None if the fit did not record them. See
    :func:`cltr.clicks.affine_fit.compared_impressions`."""
    covariance: Floats | None = None
    """Of examination and trust, ``[2, K, 2, K]``; NaN where clicks leave them open, None if the fit
    did not record it. See :func:`cltr.clicks.fit_error.fit_covariance`."""

    def tables(self, dataset: Dataset | None = None) -> Mapping[str, Floats]:
        """The fitted numbers of each document of a data set, ``[docs]``.

        Documents are matched by query and document id (unknown ones get what an unseen document
        gets), or estimated from their features where there is a regression.

        Args:
            dataset: whose documents; those that were counted if None.
        """
        if dataset is None:
            return self.documents
        if self.networks:
            from cltr.clicks.relevance import predict

            return {
                name: predict(dataset.features, _network(self, name)) for name in self.documents
            }
        rows = _matches(self, dataset)
        return {
            name: np.where(rows >= 0, values[rows], self.unseen[name])
            for name, values in self.documents.items()
        }


def _network(parameters: Parameters, name: str) -> dict[str, Floats]:
    prefix = f"{name}/"
    networks = parameters.networks.items()
    return {key.removeprefix(prefix): value for key, value in networks if key.startswith(prefix)}


def _matches(parameters: Parameters, dataset: Dataset) -> Integers:
    """Row of each document of the data set among those that were counted; -1 if it is new."""
    if parameters.query_ids is None or parameters.document_ids is None:
        raise DataError(
            "the click model was fitted without ids of queries and documents, so its relevance "
            "cannot be matched to other lists; fit it with its data set"
        )
    known = _pairs(parameters.query_ids, parameters.document_ids)
    asked = _pairs(document_queries(dataset), dataset.document_ids)
    if np.array_equal(known, asked):
        return np.arange(len(asked))
    order = np.argsort(known, kind="stable")
    places = np.minimum(np.searchsorted(known, asked, sorter=order), max(len(known) - 1, 0))
    rows = order[places] if len(known) else np.full(len(asked), -1)
    return np.where(known[rows] == asked, rows, -1) if len(known) else rows


def _pairs(queries: NDArray[Any], documents: NDArray[Any]) -> NDArray[np.str_]:
    # A character that no id has, so that different pairs stay different.
    first = np.char.add(queries.astype(str), "\x1f")
    return np.char.add(first, documents.astype(str))


def document_queries(dataset: Dataset) -> NDArray[Any]:
    """Query id of each document, ``[docs]``."""
    return np.repeat(dataset.query_ids, dataset.lists.lengths)


class Climb(NamedTuple):
    """Where a climb ended and how it went."""

    state: State
    convergence: Convergence


Watcher: TypeAlias = Callable[[int, float], None]
"""Told the number of steps so far, and the objective."""
_watcher: ContextVar[Watcher | None] = ContextVar("watcher", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell how climbs go while they go, for progress."""
    token = _watcher.set(watcher)
    try:
        yield
    finally:
        _watcher.reset(token)


def _tell(values: list[float]) -> None:
    watcher = _watcher.get()
    if watcher is not None:
        watcher(len(values), values[-1])


def climb(step: Step, state: State, *, iterations: int, tolerance: float) -> Climb:
    """Repeat steps of EM until they gain little."""
    values: list[float] = []
    while len(values) < iterations:
        state, value = step(state)
        values.append(value)
        _tell(values)
        if len(values) > 1 and _settled(values[-2], value, tolerance):
            return Climb(state, Convergence(np.array(values), True))
    return Climb(state, Convergence(np.array(values), False))


def leap(step: Step, state: State, *, iterations: int, tolerance: float) -> Climb:
    r"""Steps of EM that are extrapolated where this helps: the same summit, in fewer steps.

    From two steps with differences r and r + v, jump to :math:`x + 2\lambda r + \lambda^2 v` with
    :math:`\lambda = |r| / |v|`, and keep the jump only if its objective is no lower than that of
    the first step. So the objective never falls, as in EM.

    References: Varadhan and Roland (Scandinavian Journal of Statistics, 2008), scheme S3.
    """
    values: list[float] = []
    before = -np.inf
    while len(values) < iterations:
        first, value = step(state)
        values.append(value)
        _tell(values)
        if _settled(before, value, tolerance):
            return Climb(first, Convergence(np.array(values), True))
        before = value
        second, value = step(first)
        values.append(value)
        third, far_value = step(_extrapolate(state, first, second))
        state = third if far_value >= value else second
        if far_value >= value:
            values.append(far_value)
    return Climb(state, Convergence(np.array(values), False))


def _settled(before: float, after: float, tolerance: float) -> bool:
    return after - before <= tolerance * (NATS + abs(after))


def _extrapolate(start: State, first: State, second: State) -> State:
    """Further along the way of two steps; what would leave [0, 1] goes half-way to its end."""
    change = [b - a for a, b in zip(start, first, strict=True)]
    bend = [c - b - r for b, c, r in zip(first, second, change, strict=True)]
    bend_size = np.sqrt(sum(float((v * v).sum()) for v in bend))
    if bend_size == 0.0:
        return second
    reach = max(1.0, np.sqrt(sum(float((r * r).sum()) for r in change)) / bend_size)
    far = []
    for x, r, v, last in zip(start, change, bend, second, strict=True):
        jump = x + 2 * reach * r + reach**2 * v
        jump = np.where(jump <= 0.0, last / 2, jump)
        far.append(np.where(jump >= 1.0, (1.0 + last) / 2, jump))
    return tuple(far)


def add_up(parts: Iterable[Addable]) -> Addable | None:
    """The sum of many counts, in pairs, so that the large ones are added few times.

    Example:
        >>> add_up([1, 2, 3])
        6
    """
    sums: list[tuple[int, Any]] = []
    for part in parts:
        level, total = 0, part
        while sums and sums[-1][0] == level:
            total = sums.pop()[1] + total
            level += 1
        sums.append((level, total))
    result = None
    for _, total in reversed(sums):
        result = total if result is None else total + result
    return result


class Threads:
    """One thread for small work, where waiting for others takes longer; results are the same."""

    def __init__(self, size: int) -> None:
        self.small = size < SMALL

    def __enter__(self) -> None:
        import numba

        self.before = numba.get_num_threads()
        if self.small:
            numba.set_num_threads(1)

    def __exit__(self, *exception: object) -> None:
        import numba

        numba.set_num_threads(self.before)
