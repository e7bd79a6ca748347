"""Guards docs/budget.md: its tables are those of the results, and the results keep the budget."""

from itertools import product

import numpy as np
import pytest

from cltr.plugins import registry
from cltr.testing import tiny_dataset
from tests import optimum_table
from tests.budget_tables.page import PAGE, TABLE, filled, read_rows, values
from tests.optimum_table import ESTIMATORS, begin, markdown, read_table, shares
from tests.safety_tables.worlds import WORLDS

DONE = read_rows(TABLE)
LOGGED = {"way": "budget", "users": "as assumed", "split": "train"}


def test_the_page_shows_the_results():
    page = PAGE.read_text(encoding="utf-8")
    assert filled(page, DONE) == page
    assert markdown(read_table()) in page


def test_every_certificate_is_within_its_budget():
    rows = [row for rows in DONE.values() for row in rows if row.way == "budget"]
    places = {(cell.world, cell.users) for cell in DONE}
    assert places == set(product(WORLDS, ("as assumed", "adversarial")))
    for row in rows:
        assert row.loss <= row.bound + 1e-9
        assert row.split == "train" or row.largest <= row.bound + 1e-9


def test_no_user_costs_more_than_the_budget():
    rows = [row for rows in DONE.values() for row in rows if row.way == "budget"]
    assert all(row.gain >= -row.bound - 1e-9 for row in rows)
    assert any(row.gain < 0 for row in rows)  # adversarial users are among them


@pytest.mark.parametrize("world", ["mq2008", "mslr"])
def test_a_budget_gains_more_than_blending_at_the_same_certificate(world):
    two, five = (values(DONE, world=world, bound=bound, **LOGGED) for bound in (0.02, 0.05))
    blend = values(DONE, world=world, bound=0.02, **(LOGGED | {"way": "blend"}))
    assert len(two) == len(five) == len(blend) >= 10
    ratio = np.mean([row.gain for row in two.values()]) / np.mean(
        [row.gain for row in blend.values()]
    )
    assert ratio >= 3.5
    assert np.mean([row.gain for row in five.values()]) >= 0.04


def test_no_ranker_reaches_more_than_the_optimum():
    table = read_table()
    assert {ranker for ranker, _ in table} == set(registry().names("ranker"))
    for (ranker, _), found in table.items():
        assert max(found) <= 1 + 1e-9
        if ranker == "optimum":
            assert found == pytest.approx([1.0] * len(ESTIMATORS), abs=1e-6)


def test_shares_are_measured():
    small = {
        "interactions": 2000,
        "reward": {"name": "ips"},
        "training": {"epochs": 2},
        "production": {"epochs": 2},
    }
    world = begin(tiny_dataset(12), **small)
    exact, optimum = (shares(*world, ranker, "linear", **small) for ranker in ("exact", "optimum"))
    assert optimum == pytest.approx([1.0] * len(ESTIMATORS), abs=1e-6)
    assert all(0 <= one < 1 for one in exact)
    assert optimum_table.MARK in PAGE.read_text(encoding="utf-8")
