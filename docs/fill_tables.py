"""Write the tables of docs/reproduction*.md from their results: python docs/fill_tables.py.

A table follows ``<!-- table NAME: HEADING -->``, where NAME is that of a study file and its results
in docs/reproduction; ``every 3`` after NAME shows every third N, ``bare`` leaves the skyline out,
``seeds`` shows what each method won or lost on production at its one N, over seeds.
"""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from cltr.studies.study import PRODUCTION, SKYLINE, Study
from cltr.studies.summary import SeedInterval, Summary, read_results

FOLDER = Path(__file__).parent / "reproduction"
PAGES = (FOLDER.with_suffix(".md"), FOLDER.with_name("reproduction-tables.md"))
TABLE = re.compile(
    r"(?P<head> *<!-- table (?P<name>\S+)(?: every (?P<every>\d+))?"
    r"(?P<bare> bare)?(?P<seeds> seeds)?: (?P<title>.*) -->\n)"
    r"(?:\n *(?=\|))?(?: *\|.*\n)*"
)
SUPERSCRIPTS = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


def published(name: str) -> Summary:
    """A study of the page with its results."""
    values = tomllib.loads((FOLDER / f"{name}.toml").read_text(encoding="utf-8"))
    return Summary(Study.parse(values, owner=name), read_results(FOLDER / f"{name}.csv"))


def filled(page: str) -> str:
    """The page with the tables that its results give."""
    return TABLE.sub(lambda found: found["head"] + "\n" + _table(found), page)


def _table(found: re.Match[str]) -> str:
    summary = published(found["name"])
    indent = re.match(" *", found["head"])[0]  # type: ignore[index]
    head, *rows = _seeds(summary, found) if found["seeds"] else _means(summary, found)
    lines = [f"| {' | '.join(row)} |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "".join(f"{indent}{line}\n" for line in lines)


def _means(summary: Summary, found: re.Match[str]) -> Iterator[list[str]]:
    """Means and intervals by N."""
    study = summary.study
    columns = range(0, len(study.interactions), int(found["every"] or 1))
    yield [found["title"], *(_count(study.interactions[i]) for i in columns)]
    for name, value in summary.references.items():
        if not (name == SKYLINE and found["bare"]):
            yield [name, *[f"{value.mean:.4f}"] * len(columns)]
    for method in study.methods:
        curve = summary.curve(method, study.people[0])
        yield [method, *(_shown(curve[i]) for i in columns)]


def _seeds(summary: Summary, found: re.Match[str]) -> Iterator[list[str]]:
    """What was won or lost on production, as a share of it, by seed."""
    study, production = summary.study, summary.references[PRODUCTION].mean
    yield [found["title"], "mean, standard error", "worst seed", "seeds over 1% below"]
    for method in study.methods:
        differences = summary.differences(method, study.people[0], study.interactions[0])
        shares = np.array(list(differences.values())) / production
        error = shares.std(ddof=1) / np.sqrt(len(shares))
        below = f"{(shares < -0.01).sum()} of {len(shares)}"
        yield [method, f"{shares.mean():+.1%} ± {error:.1%}", f"{shares.min():+.1%}", below]


def _shown(found: SeedInterval) -> str:
    return f"{found.mean:.4f} ± {found.high - found.mean:.3f}"


def _count(n: int) -> str:
    """As people write it: 42,170 or 2.4·10⁶."""
    if n < 1_000_000:
        return f"{n:,}"
    leading, power = f"{n:.1e}".split("e+")
    factor = "" if leading == "1.0" else f"{leading}·"
    return f"{factor}10{str(int(power)).translate(SUPERSCRIPTS)}"


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8")), encoding="utf-8")
