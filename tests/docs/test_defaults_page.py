"""Guards docs/defaults.md and defaults-tables.md: their tables are those of docs/defaults.csv."""

import numpy as np
import pytest

from tests.safety_tables.cells import DR, LOG
from tests.safety_tables.page import PAGES, TABLE, filled
from tests.safety_tables.record import pool, read_folds
from tests.safety_tables.shops import DOCS, _read, summary
from tests.safety_tables.worlds import WORLDS

PAGE = " ".join(PAGES[0].read_text(encoding="utf-8").split())


@pytest.fixture(scope="module")
def runs():
    return read_folds(TABLE)


def test_tables_are_those_of_the_results(runs):
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        assert filled(page, runs) == page, "run: python -m tests.safety_tables --finished"


def test_shops_are_those_of_the_results():
    for name in ("defaults-shop.csv", "defaults-shop-sorted.csv"):
        assert summary(list(_read(DOCS / name).values())) in PAGE


def test_sentences_say_what_the_results_say(runs):
    pooled = {cell: pool(folds) for cell, folds in runs.items() if cell.way != DR}
    assert "No seed of any users ended more than 0.1% below production." in PAGE
    assert min(one.gain for one in pooled.values()) > -0.001
    assert "Under adversarial users every run kept production; no other run did." in PAGE
    for cell, one in pooled.items():
        assert one.stayed == (cell.users == "adversarial")
    other = [runs[cell] for cell in pooled if cell.users != "adversarial"]
    held = sum(fold.verdict == "hold" for folds in other for fold in folds)
    assert f"({held} of {sum(map(len, other)):,} splits)" in PAGE


def test_shares_that_weigh_all_sets_alike(runs):
    def gain(way: str, users: str, n: int) -> float:
        wanted = {(world, way, users, n) for world in WORLDS}
        found = [
            pool(folds).gain
            for cell, folds in runs.items()
            if (cell.world, cell.way, cell.users, cell.interactions) in wanted
        ]
        return float(np.mean(found))

    first, second = (gain(LOG, "pbm", n) / gain(DR, "as assumed", n) for n in (100_000, 1_000_000))
    assert f"{first:.0%} at N = 100,000 and {second:.2%} at N = 1,000,000" in PAGE
