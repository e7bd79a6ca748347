"""How often held-out clicks reject a click model that is right, and one that is wrong.

    python -m tests.misfit_tables --logs 300

prints both tables in Markdown. Each log has lists of 12 documents with five grades; five ranks are
shown by a Plackett-Luce policy whose scores know the grades somewhat (``SKILL`` each grade, beside
noise of standard deviation 1). Models are fitted to one part of the log and tested on the other.
"""

import argparse
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from cltr.clicks.misfit import MisfitVerdict, judge_clicks
from cltr.clicks.models import PositionBased, TrustBias
from cltr.clicks.simulation import simulate_statistics
from cltr.interfaces import ClickModel
from cltr.plugins import registry
from cltr.types import ClickStatistics, Dataset

SIZES = ((20_000, 5_000), (20_000, 20_000), (5_000, 20_000))
"""Interactions fitted and held out."""
SKILL = 0.3
OTHER_EXAMINATION = PositionBased(eta=1.3)
CHANGED = PositionBased(eta=1.1)
"""Users whose examination changed after the fit, from 1/k."""


def lists(n_queries: int, *, seed: int = 0, n_documents: int = 12) -> Dataset:
    """Documents without features, with random grades."""
    rng = np.random.default_rng(seed)
    n = n_queries * n_documents
    return Dataset(
        features=np.zeros((n, 1), np.float32),
        labels=rng.integers(0, 5, size=n).astype(np.float64),
        offsets=n_documents * np.arange(n_queries + 1),
        query_ids=np.arange(n_queries),
        document_ids=np.arange(n),
    )


def parts(
    users: Sequence[ClickModel],
    sizes: Sequence[int],
    *,
    seed: int,
    n_queries: int = 100,
    skill: float = SKILL,
) -> list[ClickStatistics]:
    """Parts of a log on the same lists, each with its own users."""
    dataset, rng = lists(n_queries, seed=seed), np.random.default_rng(seed + 10**6)
    scores = rng.normal(size=dataset.n_documents) + skill * dataset.labels
    return [
        simulate_statistics(dataset, scores, each, n=n, top_k=5, rng=rng)
        for each, n in zip(users, sizes, strict=True)
    ]


def fitted_verdicts(
    make: Callable[[], ClickModel],
    users: Sequence[ClickModel],
    sizes: Sequence[int],
    *,
    logs: int,
    n_queries: int = 100,
    skill: float = SKILL,
    draws: int = 9999,
) -> Iterator[MisfitVerdict]:
    """The verdict on a model that was fitted to the first part, by clicks of the second."""
    for seed in range(logs):
        first, second = parts(users, sizes, seed=seed, n_queries=n_queries, skill=skill)
        model = make()
        model.fit(first)
        verdict = judge_clicks(model, second, draws=draws)
        assert verdict is not None and verdict.p_value is not None
        yield verdict


def given_verdicts(
    model: ClickModel, users: ClickModel, size: int, *, logs: int, draws: int = 9999
) -> Iterator[MisfitVerdict]:
    """The verdict on a model with given values."""
    for seed in range(logs):
        (held_out,) = parts([users], [size], seed=seed)
        verdict = judge_clicks(model, held_out, draws=draws)
        assert verdict is not None
        yield verdict


def _rates(verdicts: Iterator[MisfitVerdict]) -> str:
    found = list(verdicts)
    p_values = np.array([one.p_value for one in found])
    sizes = np.median([abs(one.size) for one in found])
    errors = np.median([one.standard_error for one in found])
    return (
        f"{np.mean(p_values <= 0.05):.3f} | {np.mean(p_values < 0.001):.3f} | "
        f"{np.mean([one.rejected for one in found]):.3f} | {sizes:.1%} ± {errors:.1%}"
    )


HEAD = (
    "p ≤ .05 | p < .001 | rejected (and ≥ 1% off) | median size ± standard error |",
    "|---|---|---|---|",
)


def print_levels(logs: int) -> None:
    """Rates at which a fitted model that is right is rejected."""
    print(f"\nTrue and fitted, {logs} logs each\n")  # noqa: T201
    print("| model | queries | skill | fitted / held out | " + HEAD[0])  # noqa: T201
    print("|---|---|---|---" + HEAD[1])  # noqa: T201
    for n_queries, skill in ((100, SKILL), (1000, SKILL), (1000, 0.0)):
        for make in (PositionBased, TrustBias):
            for sizes in SIZES:
                rates = _rates(
                    fitted_verdicts(
                        *(make, [make(), make()], sizes),
                        **{"logs": logs, "n_queries": n_queries, "skill": skill},
                    )
                )
                name = f"`{make.name}` | {n_queries} | {skill}"
                row = f"| {name} | {sizes[0]:,} / {sizes[1]:,} | {rates} |"
                print(row, flush=True)  # noqa: T201


def print_power(logs: int) -> None:
    """Rates at which a model that is wrong is rejected."""
    print(f"\nWrong, {logs} logs each\n")  # noqa: T201
    print("| users | model | fitted / held out | " + HEAD[0])  # noqa: T201
    print("|---|---|---" + HEAD[1])  # noqa: T201
    others = {name: registry().find("click-model", name)() for name in ("dbn", "cascade", "ubm")}
    for fitted, held_out in ((20_000, 5_000), (20_000, 20_000), (200_000, 50_000)):
        cases: list[tuple[str, Sequence[ClickModel]]] = [
            *((f"`{name}`", [users, users]) for name, users in others.items()),
            ("`trust-bias`", [TrustBias(), TrustBias()]),
            ("`pbm`, 1/k, then 1/k^1.1", [PositionBased(), CHANGED]),
        ]
        for name, users in cases:
            for make in (PositionBased, TrustBias):
                if name == f"`{make.name}`":
                    continue
                rates = _rates(fitted_verdicts(make, users, (fitted, held_out), logs=logs))
                row = f"| {name} | `{make.name}`, fitted | {fitted:,} / {held_out:,} | {rates} |"
                print(row, flush=True)  # noqa: T201
        for name, one in {**others, "pbm, 1/k^1.3": OTHER_EXAMINATION}.items():
            for model in (PositionBased(), TrustBias()):
                rates = _rates(given_verdicts(model, one, held_out, logs=logs))
                row = f"| `{name}` | `{model.name}`, given | – / {held_out:,} | {rates} |"
                print(row, flush=True)  # noqa: T201


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--logs", type=int, default=300)
    parser.add_argument("--only", choices=["levels", "power"])
    chosen = parser.parse_args()
    began = time.perf_counter()
    if chosen.only != "power":
        print_levels(chosen.logs)
    if chosen.only != "levels":
        print_power(max(chosen.logs // 6, 1))
    print(f"\n{time.perf_counter() - began:.0f} s")  # noqa: T201
