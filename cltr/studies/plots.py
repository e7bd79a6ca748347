"""A study as a picture: curves over interactions, shaded intervals, production and skyline."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cltr.files.storage import write_beside
from cltr.looks import MARKERS, SERIES
from cltr.studies.study import PRODUCTION
from cltr.studies.summary import Summary

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Published = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""Curves of a paper: interactions and values by method."""


def draw_study(summary: Summary, *, published: Published | None = None) -> "Figure":
    """Panels below each other, users side by side."""
    from matplotlib.figure import Figure

    study = summary.study
    panels, people = study.shown, study.people
    figure = Figure(
        figsize=(6.4 * len(people) + 0.4, 4.2 * len(panels) + 0.4), layout="constrained"
    )
    grid = figure.subplots(len(panels), len(people), squeeze=False, sharex=True)
    for row, (panel, methods) in enumerate(panels.items()):
        for column, users in enumerate(people):
            axes = grid[row][column]
            _draw_panel(axes, summary, methods, users, published or {})
            words = [panel, f"users: {users}" if len(people) > 1 else ""]
            axes.set_title(_plain(", ".join(word for word in words if word)), fontsize=10)
            if row == len(panels) - 1:
                axes.set_xlabel("N, training interactions")
            if column == 0:
                axes.set_ylabel(summary.measure.upper())
    if study.title:
        figure.suptitle(_plain(study.title), fontsize=12)
    return figure


def _draw_panel(
    axes: "Axes", summary: Summary, methods: list[str], users: str, published: Published
) -> None:
    study = summary.study
    for name, value in summary.references.items():
        style = ":" if name == PRODUCTION else "--"
        axes.axhline(value.mean, color="black", linestyle=style, linewidth=1.2, label=name)
    for index, name in enumerate(methods):
        color = SERIES[index % len(SERIES)]
        bands = summary.curve(name, users)
        means = np.array([b.mean for b in bands])
        axes.plot(
            study.interactions,
            means,
            color=color,
            marker=MARKERS[index % len(MARKERS)],
            markersize=4,
            linewidth=1.6,
            label=_plain(name),
        )
        low, high = (np.array([getattr(b, side) for b in bands]) for side in ("low", "high"))
        if np.isfinite(low).any():
            axes.fill_between(study.interactions, low, high, color=color, alpha=0.15, linewidth=0)
        if name in published:
            axes.plot(*published[name], color=color, linewidth=4, alpha=0.22, zorder=0)
    if shown := [name for name in methods if name in published]:
        axes.plot([], [], color="black", linewidth=4, alpha=0.22, label="as published, wide")
    axes.set_xscale("log")
    axes.grid(visible=True, alpha=0.25)
    axes.legend(fontsize=8, framealpha=0.85)
    seen = [b.mean for name in methods for b in summary.curve(name, users)]
    seen += [b.mean for b in summary.references.values()]
    _look_at(axes, seen + [value for name in shown for value in published[name][1]])


def _plain(text: str) -> str:
    """Words as they are: a dollar begins no formula, a leading underscore hides nothing."""
    shown = text.replace("$", r"\$")
    return f"\u200b{shown}" if shown.startswith("_") else shown


def _look_at(axes: "Axes", seen: list[float]) -> None:
    """Limits that show all means; wide intervals of few seeds may leave the picture."""
    known = np.array(seen)[np.isfinite(seen)]
    if len(known):
        low, high = known.min(), known.max()
        room = 0.12 * max(high - low, 1e-3)
        axes.set_ylim(low - room, high + room)


def save(figure: "Figure", folder: Path, name: str) -> list[Path]:
    """As PNG and as SVG; the same bytes for the same numbers."""
    import matplotlib as mpl

    paths = []
    with mpl.rc_context({"svg.hashsalt": "cltr"}):
        for kind in ("png", "svg"):
            path = folder / f"{name}.{kind}"
            metadata: dict[str, Any] = {"Date": None} if kind == "svg" else {"Software": None}
            with write_beside(path, wait=True) as temporary:
                figure.savefig(temporary, format=kind, dpi=140, metadata=metadata)
            paths.append(path)
    return paths
