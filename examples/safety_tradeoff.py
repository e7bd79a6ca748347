"""What safety costs: NDCG gained against the worst-case loss, for PRPO, band and blending.

    python examples/safety_tradeoff.py --out docs/safety.png

learns one policy per setting from the same simulated clicks on the demo data, prints a Markdown
table and draws it. Every row is certified on test queries: whatever users find relevant, the
mean NDCG@5 cannot fall by more than the worst-case loss.
"""

import argparse
from pathlib import Path
from typing import Any

from cltr.evaluation.certificate import blend_for_loss
from cltr.experiment.config import resolve
from cltr.experiment.experiment import Experiment

SETTINGS: list[tuple[str, dict[str, Any]]] = [
    ("plain", {"name": "plain"}),
    *((f"prpo {clip}", {"name": "prpo", "clip": clip}) for clip in ("100/N", 0.1, 0.25, 0.5, 1.0)),
    *(
        (f"prpo {clip}, rollback", {"name": "prpo", "clip": clip, "rollback": 1.0})
        for clip in (0.25, 0.5, 1.0)
    ),
    *((f"band {low}", {"name": "band", "clip": low}) for low in (0.25, 0.5, 0.75, 0.9)),
]
BLENDS = (0.2, 0.1, 0.05, 0.02)


def measure(n: int, seed: int, epochs: int) -> list[tuple[str, float, float]]:
    """Setting, NDCG@5 gained on production, worst-case NDCG@5 loss; both on test queries."""
    base: dict[str, Any] = {"interactions": n, "seed": seed, "training": {"epochs": epochs}}
    shared = Experiment.simulated(resolve(base))
    clicks = shared.simulate()
    rows = []
    for title, estimator in SETTINGS:
        experiment = shared.with_config(resolve({**base, "estimator": estimator}))
        outcome = experiment.run(clicks)
        rows.append((title, *_columns(outcome.judged)))
        if title == "plain":
            model = outcome.learned.model
            for loss in BLENDS:
                served = experiment.serve(model)["test"]
                weights = experiment.reported_weights["dcg"]
                blend = blend_for_loss(served, weights, ndcg_loss=loss)
                judged = experiment.judge(model, blend=blend)
                rows.append((f"blend to {loss:.0%}", *_columns(judged)))
    return rows


def _columns(judged: dict[str, Any]) -> tuple[float, float]:
    metrics = judged["metrics"]
    gained = metrics["policy"]["ndcg@5"] - metrics["production"]["ndcg@5"]
    return gained, judged["certificate"]["test"]["worst_case"]["ndcg@5"]["loss"]


def draw(rows: list[tuple[str, float, float]], out: Path) -> None:
    """Scatter plot, one mark per kind of method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 5))
    marks = {"plain": "*", "prpo": "o", "prpo, rollback": "^", "blend": "s", "band": "D"}
    for kind, mark in marks.items():
        of_kind = [row for row in rows if _kind(row[0]) == kind]
        axes.plot([r[2] for r in of_kind], [r[1] for r in of_kind], mark, label=kind, ms=8)
        # What is clipped lies left of its mark, what is mixed right of it: they meet at the ends.
        left = kind.startswith("prpo")
        for title, gained, loss in of_kind:
            axes.annotate(
                title.removeprefix(kind.partition(",")[0]).removesuffix(", rollback"),
                (loss, gained),
                textcoords="offset points",
                xytext=(-7, 3) if left else (7, -3),
                ha="right" if left else "left",
                fontsize=7,
            )
    axes.axhline(0, color="grey", lw=0.8)
    axes.set_xlabel("worst-case NDCG@5 loss on test queries, whatever users find relevant")
    axes.set_ylabel("NDCG@5 gained on production, test queries")
    axes.legend()
    figure.tight_layout()
    figure.savefig(out, dpi=120)


def _kind(title: str) -> str:
    return "prpo, rollback" if "rollback" in title else title.partition(" ")[0]


def main() -> None:
    """Measure, print, draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--n", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--epochs", type=int, default=100)
    parser.add_argument("--out", type=Path)
    arguments = parser.parse_args()
    rows = measure(arguments.n, arguments.seed, arguments.epochs)
    print("| setting | NDCG@5 gained | worst-case NDCG@5 loss |\n|---|---|---|")  # noqa: T201
    for title, gained, loss in rows:
        print(f"| {title} | {gained:+.4f} | {100 * loss:.1f} points |")  # noqa: T201
    if arguments.out:
        draw(rows, arguments.out)


if __name__ == "__main__":
    main()
