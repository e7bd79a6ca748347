"""Write the tables of docs/panel.md, panel-tables.md and README.md from the panel's results.

``python docs/fill_panel.py mq2008=reproduction/panel-mq2008`` first publishes what ``cltr reproduce
panel`` wrote into a folder: study, results and picture. Without arguments it fills the tables only.

A table follows ``<!-- panel NAME -->`` (a line for each method), ``<!-- panel NAME users -->`` (a
row for each method and N, a column for each kind of users) or ``<!-- panel NAME short -->`` (three
methods), where NAME is that of a study file and its results in docs/panel. The picture of the
README, pictures/difference.png, shows two of these methods.
"""

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cltr.looks import SERIES, label
from cltr.report.study_tables import PANEL_COLUMNS, panel_cells
from cltr.studies.panel_table import PanelRow, gain_of, measure_of, method_lines, panel_rows
from cltr.studies.study import Study
from cltr.studies.summary import read_results

DOCS = Path(__file__).parent
PAGES = DOCS / "panel.md", DOCS / "panel-tables.md", DOCS.parent / "README.md"
PICTURE = DOCS / "pictures" / "difference.png"
FOLDER = DOCS / "panel"
SHORT = {
    "DR": "doubly robust (DR), no protection",
    "PRPO, paper": "PRPO as in the paper",
    "default": "`cltr train`",
}
"""Methods of the short table, and what a newcomer would call them."""
USERS = {
    "as assumed": "users as assumed",
    "PBM": "position-based users",
    "wrong examination": "steep position bias",
    "DBN": "users who stop when satisfied",
    "cascade": "users who stop at a click",
    "UBM": "user browsing model",
    "random": "random clicks",
    "adversarial": "adversarial users",
}
"""The same for users, in the picture."""
TABLE = re.compile(
    r"(?P<head><!-- panel (?P<name>\S+)(?: (?P<kind>users|short))? -->\n)(?:\n(?=\|))?(?:\|.*\n)*"
)


def published(name: str) -> tuple[Study, list[PanelRow]]:
    """A panel of the page: its study and its table."""
    values = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    study = Study.parse(values, owner=name)
    return study, panel_rows(study, read_results(FOLDER / f"{name}.csv"))


def filled(page: str) -> str:
    """The page with the tables that its results give."""
    return TABLE.sub(lambda found: found["head"] + "\n" + _table(found), page)


def _table(found: re.Match[str]) -> str:
    study, rows = published(found["name"])
    kinds = {"users": _by_users(study, rows), "short": _short(rows)}
    head, *lines = kinds.get(found["kind"], _by_method(rows))
    text = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    text.insert(1, "|" + "---|" * len(head))
    return "".join(f"{line}\n" for line in text)


def _by_method(rows: list[PanelRow]) -> Iterator[list[str]]:
    headings = [" ".join(heading.replace("-\n", "").split()) for heading in PANEL_COLUMNS]
    yield ["method", "runs", *headings]
    for line in method_lines(rows):
        yield [label(line.method), str(line.runs), *panel_cells(vars(line))]


def _short(rows: list[PanelRow]) -> Iterator[list[str]]:
    yield [
        "method",
        "users as assumed",
        "other users, worst",
        "adversarial users, worst",
        "runs below production",
    ]
    for line in method_lines(rows):
        if line.method in SHORT:
            gains = (line.as_assumed, line.otherwise_worst, line.adversarial_worst)
            shown = [f"{gain:+.1%}" for gain in gains if gain is not None]
            yield [SHORT[line.method], *shown, f"{line.runs_below:.0%}"]


def _by_users(study: Study, rows: list[PanelRow]) -> Iterator[list[str]]:
    yield ["method", "N", *study.people]
    for method in study.methods:
        for n in study.interactions:
            found = {r.users: r for r in rows if (r.method, r.interactions) == (method, n)}
            if found:
                cells = [_gain(found.get(users)) for users in study.people]
                yield [label(method), f"{n:,}", *cells]


def _gain(row: PanelRow | None) -> str:
    return "-" if row is None else f"{row.mean_gain:+.1%} ({row.worst_seed:+.1%})"


def draw_difference(path: Path = PICTURE, name: str = "mq2008") -> None:
    """What plain DR and the default command gain and lose, by kind of users."""
    from matplotlib.figure import Figure

    study, _ = published(name)
    cells, measure = read_results(FOLDER / f"{name}.csv"), measure_of(study)
    figure = Figure(figsize=(8, 3.8), layout="constrained")
    axes = figure.subplots()
    for method, offset, colour, shown in (
        ("DR", -0.17, SERIES[1], "doubly robust (DR), no protection"),
        ("default", 0.17, SERIES[0], "cltr train"),
    ):
        for place, users in enumerate(study.people):
            chosen = (cell for cell in cells if (cell["method"], cell["users"]) == (method, users))
            gains = [100 * gain_of(cell, measure) for cell in chosen]
            at = np.full(len(gains), place + offset)
            axes.plot(gains, at, "o", alpha=0.4, color=colour, markersize=4)
            ends = [place + offset - 0.15, place + offset + 0.15]
            axes.plot([np.mean(gains)] * 2, ends, color=colour, linewidth=2.5)
        axes.plot([], [], "o", color=colour, label=shown)
    axes.axvline(0, color="grey", linewidth=1)
    axes.set_yticks(range(len(study.people)), [USERS.get(one, one) for one in study.people])
    axes.invert_yaxis()
    axes.set_xlabel("NDCG@5 gained on production, test queries of MQ2008 (%)")
    seeds = len({cell["seed"] for cell in cells})
    sizes = ", ".join(f"{n:,}" for n in study.interactions)
    title = (
        f"a dot is a run: {sizes} interactions, {seeds} seed{'s' * (seeds > 1)}; a bar is the mean"
    )
    axes.set_title(title, fontsize=10, loc="left")
    figure.legend(loc="outside lower center", ncols=2, fontsize=9, frameon=False)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
    figure.savefig(path, dpi=130)


def publish(name: str, folder: Path) -> None:
    """Copy a finished panel beside the page.

    Args:
        name: of the data set on the page.
        folder: that ``cltr reproduce panel`` wrote.
    """
    for file, suffix in (("study.toml", "toml"), ("results.csv", "csv"), ("panel.png", "png")):
        shutil.copyfile(folder / file, FOLDER / f"{name}.{suffix}")


if __name__ == "__main__":
    for word in sys.argv[1:]:
        chosen, _, source = word.partition("=")
        publish(chosen, Path(source))
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
    draw_difference()
