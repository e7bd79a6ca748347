"""The safety panel as a picture: gains by method, one field for each kind of users."""

from typing import TYPE_CHECKING

from cltr.looks import SERIES, label
from cltr.studies.panel_table import PanelRow
from cltr.studies.study import Study

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ACROSS = 4


def draw_panel(study: Study, rows: list[PanelRow]) -> "Figure":
    """A mark at the mean gain for each number of interactions, with a line to the worst seed."""
    from matplotlib.figure import Figure

    methods, people = list(study.methods), study.people
    across = min(ACROSS, len(people))
    down = -(-len(people) // across)
    height = 0.42 * len(methods) + 1.0
    figure = Figure(figsize=(3.3 * across + 1.4, height * down + 0.7), layout="constrained")
    grid = figure.subplots(down, across, squeeze=False, sharex=True, sharey=True)
    fields = [axes for line in grid for axes in line]
    for users, axes in zip(people, fields, strict=False):
        _draw_users(axes, [row for row in rows if row.users == users], methods, study.interactions)
        axes.set_title(f"users: {users}", fontsize=10)
    for axes in fields[len(people) :]:
        axes.set_axis_off()
    for line in grid:
        line[0].set_yticks(range(len(methods)), map(label, methods), fontsize=9)
    grid[0][0].invert_yaxis()  # all share it
    for axes in grid[-1]:
        axes.set_xlabel("gain of NDCG on production", fontsize=9)
    handles, labels = fields[0].get_legend_handles_labels()
    if handles:
        figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), fontsize=9)
    figure.suptitle(f"{study.title}: mean over seeds, line to the worst seed", fontsize=12)
    return figure


def _draw_users(
    axes: "Axes", rows: list[PanelRow], methods: list[str], interactions: list[int]
) -> None:
    axes.axvline(0.0, color="black", linewidth=1.0)
    for number, n in enumerate(interactions):
        color = SERIES[number % len(SERIES)]
        here = [row for row in rows if row.interactions == n]
        offset = (number - (len(interactions) - 1) / 2) * 0.22
        places = [methods.index(row.method) + offset for row in here]
        means = [row.mean_gain for row in here]
        worst = [row.worst_seed for row in here]
        axes.hlines(places, worst, means, color=color, linewidth=1.6)
        axes.plot(means, places, "o", color=color, markersize=4.5, label=f"N = {n:,}")
    axes.grid(visible=True, axis="x", alpha=0.25)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:+.0%}")
    axes.tick_params(axis="x", labelsize=8)
