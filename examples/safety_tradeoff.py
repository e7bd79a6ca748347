"""What safety costs: NDCG gained against the worst-case loss, for PRPO, band and blending.

    python examples/safety_tradeoff.py --out docs/safety.csv

learns one policy per setting from the same simulated clicks on the demo data, prints a Markdown
table, keeps its rows as CSV and draws them beside it (.png). Every row is certified on test
queries: whatever users find relevant, the mean NDCG@5 cannot fall by more than the worst-case loss.
"""

import argparse
import csv
from pathlib import Path
from typing import Any

from cltr.evaluation.certificate import blend_for_loss
from cltr.experiment.config import resolve
from cltr.experiment.experiment import Experiment
from cltr.looks import SERIES

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
                judged = experiment.judge(experiment.serve(model, blend=blend))
                rows.append((f"blend to {loss:.0%}", *_columns(judged)))
    return rows


def _columns(judged: dict[str, Any]) -> tuple[float, float]:
    metrics = judged["metrics"]
    gained = metrics["policy"]["ndcg@5"] - metrics["production"]["ndcg@5"]
    return gained, judged["certificate"]["test"]["worst_case"]["ndcg@5"]["loss"]


def table(rows: list[tuple[str, float, float]]) -> str:
    """Rows in Markdown."""
    lines = ["| setting | NDCG@5 gained | worst-case NDCG@5 loss |", "|---|---|---|"]
    lines += [
        f"| {title} | {gained:+.4f} | {100 * loss:.1f} points |" for title, gained, loss in rows
    ]
    return "\n".join(lines)


def read(path: Path) -> list[tuple[str, float, float]]:
    """Rows that :func:`save` wrote."""
    with path.open(newline="", encoding="utf-8") as file:
        return [
            (title, float(gained), float(loss)) for title, gained, loss in [*csv.reader(file)][1:]
        ]


def save(rows: list[tuple[str, float, float]], path: Path) -> None:
    """Rows as CSV."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["setting", "gained", "loss"])
        writer.writerows((title, f"{gained:.6f}", f"{loss:.6f}") for title, gained, loss in rows)


def draw(rows: list[tuple[str, float, float]], out: Path) -> None:
    """Scatter plot, one mark per kind of method."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7.5, 4.6))
    marks = {"blend": "s-", "band": "D-", "prpo": "o", "prpo, rollback": "^", "plain": "*"}
    for (kind, mark), colour in zip(marks.items(), SERIES, strict=False):
        of_kind = sorted((100 * r[2], r[1], r[0]) for r in rows if _kind(r[0]) == kind)
        xs, ys = [one[0] for one in of_kind], [one[1] for one in of_kind]
        size = 13 if kind == "plain" else 7
        axes.plot(xs, ys, mark, label=kind, ms=size, color=colour, lw=1)
        # Clipped policies have their label on the left, blends below, so that few overlap.
        left = kind.startswith("prpo")
        for loss, gained, title in of_kind:
            axes.annotate(
                title.removeprefix(kind.partition(",")[0]).removesuffix(", rollback").strip(),
                (loss, gained),
                textcoords="offset points",
                xytext=(-7, 3) if left else (6, -10 if kind == "blend" else 4),
                ha="right" if left else "left",
                fontsize=8,
            )
    axes.axhline(0, color="grey", lw=0.8)
    axes.set_xlabel("worst-case NDCG@5 loss on test queries, whatever users find relevant (points)")
    axes.set_ylabel("NDCG@5 gained on production")
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
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
    print(table(rows))  # noqa: T201
    if arguments.out:
        save(rows, arguments.out)
        draw(rows, arguments.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
