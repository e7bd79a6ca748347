"""Write the tables of docs/panel.md and panel-tables.md from their results.

``python docs/fill_panel.py mq2008=reproduction/panel-mq2008`` first publishes what ``cltr reproduce
panel`` wrote into a folder: study, results and picture. Without arguments it fills the tables only.

A table follows ``<!-- panel NAME -->`` (a line for each method) or ``<!-- panel NAME users -->`` (a
row for each method and N, a column for each kind of users), where NAME is that of a study file and
its results in docs/panel.
"""

import re
import shutil
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from cltr.report.study_tables import PANEL_COLUMNS, panel_cells
from cltr.studies.panel_table import PanelRow, method_lines, panel_rows
from cltr.studies.study import Study
from cltr.studies.summary import read_results

DOCS = Path(__file__).parent
PAGES = DOCS / "panel.md", DOCS / "panel-tables.md"
FOLDER = DOCS / "panel"
TABLE = re.compile(
    r"(?P<head><!-- panel (?P<name>\S+)(?P<users> users)? -->\n)(?:\n(?=\|))?(?:\|.*\n)*"
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
    head, *lines = _by_users(study, rows) if found["users"] else _by_method(rows)
    text = [f"| {' | '.join(line)} |" for line in (head, *lines)]
    text.insert(1, "|" + "---|" * len(head))
    return "".join(f"{line}\n" for line in text)


def _by_method(rows: list[PanelRow]) -> Iterator[list[str]]:
    headings = [" ".join(heading.replace("-\n", "").split()) for heading in PANEL_COLUMNS]
    yield ["method", "runs", *headings]
    for line in method_lines(rows):
        yield [line.method, str(line.runs), *panel_cells(vars(line))]


def _by_users(study: Study, rows: list[PanelRow]) -> Iterator[list[str]]:
    yield ["method", "N", *study.people]
    for method in study.methods:
        for n in study.interactions:
            found = {r.users: r for r in rows if (r.method, r.interactions) == (method, n)}
            if found:
                cells = [_gain(found.get(users)) for users in study.people]
                yield [method, f"{n:,}", *cells]


def _gain(row: PanelRow | None) -> str:
    return "-" if row is None else f"{row.mean_gain:+.1%} ({row.worst_seed:+.1%})"


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
