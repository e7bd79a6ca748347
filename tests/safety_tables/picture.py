"""What the default command gained on MQ2008, by kind of users: docs/pictures/defaults.png."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cltr.looks import SERIES
from tests.safety_tables.cells import DR, LOG, RUN, Cell
from tests.safety_tables.record import Pooled

PICTURE = Path(__file__).parents[2] / "docs" / "pictures" / "defaults.png"
WORLD, SIZE = "mq2008", 100_000
ROWS = (
    ("as assumed", DR, "plain DR, users as assumed"),
    ("as assumed", RUN, "users as assumed"),
    ("pbm", LOG, "position-based users"),
    ("steep examination", LOG, "steep position bias"),
    ("ubm", LOG, "user browsing model"),
    ("dbn", LOG, "users who stop when satisfied"),
    ("cascade", LOG, "users who stop at a click"),
    ("adversarial", LOG, "adversarial users"),
)


def draw(runs: Mapping[Cell, Pooled], path: Path = PICTURE) -> None:
    """A dot for each seed, a bar for their mean; nothing if the runs are not there yet."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axes = figure.subplots()
    for place, (users, way, _) in enumerate(ROWS):
        gains = [
            100 * one.gain
            for cell, one in runs.items()
            if (cell.world, cell.users, cell.way, cell.interactions) == (WORLD, users, way, SIZE)
        ]
        if not gains:
            return
        colour = SERIES[1] if way == DR else SERIES[0]
        axes.plot(gains, np.full(len(gains), place), "o", alpha=0.5, color=colour, markersize=4)
        axes.plot([np.mean(gains)] * 2, [place - 0.3, place + 0.3], color=colour, linewidth=2.5)
    axes.axvline(0, color="grey", linewidth=1)
    axes.set_yticks(range(len(ROWS)), [label for _, _, label in ROWS])
    axes.invert_yaxis()
    axes.set_xlabel("NDCG@5 gained on production, test queries of MQ2008 (%)")
    axes.set_title(
        "plain DR (first row) and cltr train; 100,000 interactions, a dot is a seed",
        fontsize=10,
        loc="left",
    )
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    path.parent.mkdir(exist_ok=True)
    figure.savefig(path, dpi=130)
