"""A fit as a picture: examination by rank, trust bias, perplexity by rank."""

from pathlib import Path
from typing import Any

import numpy as np

from cltr.errors import UsageError
from cltr.looks import GREY, SERIES

KINDS = ("png", "svg", "pdf")
HIGHEST = 2.0
"""Perplexity that is drawn at most: that of a coin."""
HARVESTED = {"pivot": "s", "adjacent_chain": "^", "all_pairs": "o", "randomised": "*"}
BASELINES = ("document-ctr", "rank-ctr")
"""Shown among perplexities, but not among examinations: they have none to show."""


def check_picture(path: Path) -> str:
    """The kind of picture that a file name asks for, or one clear error."""
    kind = path.suffix.lower().removeprefix(".")
    if kind not in KINDS:
        raise UsageError(f"{path}: a picture's name must end in .png, .svg or .pdf")
    return kind


def draw_fit(report: dict[str, Any], path: Path) -> None:
    """Curves of every model of a report of ``cltr fit``, as PNG, SVG or PDF by the file's name."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from cltr.files.storage import write_beside

    kind = check_picture(path)
    trusting = [one for one in report["models"] if any(_trust(one))]
    figure, axes = pyplot.subplots(
        1, 2 + bool(trusting), figsize=(5 + 4 * (1 + bool(trusting)), 3.6), layout="constrained"
    )
    ranks = np.arange(1, report["top_k"] + 1)
    _draw_examination(axes[0], ranks, report)
    _draw_perplexity(axes[1], ranks, report)
    if trusting:
        _draw_trust(axes[2], ranks, trusting[0])
    for each in axes:
        each.set_xlabel("rank")
        each.set_xticks(ranks if len(ranks) <= 20 else ranks[:: len(ranks) // 10])
        each.spines[["top", "right"]].set_visible(False)
        each.legend(fontsize=7, frameon=False)
    figure.suptitle(Path(report["log"]).name, fontsize=10)
    with write_beside(path) as partial:
        figure.savefig(partial, format=kind, dpi=150)
    pyplot.close(figure)


def _trust(model: dict[str, Any]) -> list[float]:
    bias = model["bias"]
    return [] if bias is None else bias["trust"]


def _values(values: list[float | None]) -> np.ndarray:
    return np.array(values, dtype=np.float64)


def _draw_examination(axes: Any, ranks: np.ndarray, report: dict[str, Any]) -> None:
    axes.set(ylabel="examination", ylim=(0, None))
    for number, model in enumerate(report["models"]):
        if model["examination"] is not None and model["name"] not in BASELINES:
            colour = SERIES[number % len(SERIES)]
            values = _values(model["examination"])
            axes.plot(ranks, values, color=colour, label=model["name"], linewidth=1.4)
    intervals = report["harvested"].get("intervals", {})
    for shift, (name, marker) in enumerate(HARVESTED.items()):
        if name not in report["harvested"]:
            continue
        values = _values(report["harvested"][name])
        label = f"{name.replace('_', ' ')}, against rank 1"
        at = ranks + 0.12 * (shift - 1)
        axes.plot(at, values, marker, color=GREY, markersize=4, label=label, linestyle="none")
        if name in intervals:
            low, high = _values(intervals[name]["low"]), _values(intervals[name]["high"])
            axes.vlines(at, low, high, color=GREY, linewidth=0.6)


def _draw_perplexity(axes: Any, ranks: np.ndarray, report: dict[str, Any]) -> None:
    axes.set(ylabel="held-out perplexity, given clicks above")
    for number, model in enumerate(report["models"]):
        colour = SERIES[number % len(SERIES)]
        values = _values(model["conditional_perplexity_by_rank"])
        axes.plot(ranks, values, color=colour, label=model["name"], linewidth=1.2)
    axes.set_ylim(1.0, min(axes.get_ylim()[1], HIGHEST))


def _draw_trust(axes: Any, ranks: np.ndarray, model: dict[str, Any]) -> None:
    """Click probability of what is relevant and what is not, on the fitted scale."""
    bias = model["bias"]
    trust = _values(bias["trust"])
    total = _values(bias["examination"]) + trust
    axes.set(ylabel=f"click probability, {model['name']}", ylim=(0, 1))
    for values, colour, label in (
        (total, SERIES[0], "relevant (α + β)"),
        (trust, SERIES[1], "irrelevant (β)"),
    ):
        axes.plot(ranks, values, "o-", color=colour, markersize=3, label=label)
