"""Guards the coverage page: its arithmetic, its tables, and the coverage of the main intervals."""

import numpy as np
import pytest

from cltr.evaluation.bounds import ClusterTotals, t_interval
from tests.coverage_tables import all_cases
from tests.coverage_tables.page import PAGE, SUMMARY, TABLE, filled
from tests.coverage_tables.population import population
from tests.coverage_tables.record import (
    Case,
    Outcome,
    Row,
    read_rows,
    run_case,
    summarise,
    write_rows,
)

MAIN = (
    "200 queries, equal traffic, ips",
    "200 queries, equal traffic, dr",
    "19 queries, equal traffic, dr",
    "5 queries, equal traffic, ips",
    "peaked production (scores × 3), ips",
    "pbm fitted to 50 queries × 40, tested on 1,000 × 20, ips",
    "learned policy: PRPO over dr, 60 test queries",
)
TOY = [(0.0, 2.0), (0.5, 1.5), (1.5, 2.0), (-1.0, 0.5), (-np.inf, np.inf)]


def toy(seed: int) -> list[Outcome]:
    low, high = TOY[seed]
    return [Outcome("mean", low, high, 1.0, 1.0 + seed, "wild" if seed else "t")]


def test_a_row_is_the_share_of_intervals_that_contain_the_truth():
    case = Case("interval", "toy", toy)
    (row,) = summarise(case, [one for seed in range(5) for one in toy(seed)])
    assert (row.logs, row.printed, row.covered, row.share) == (5, 4, 2, 2 / 4)
    assert (row.too_low, row.too_high) == (1, 1)
    assert row.width == pytest.approx((2.0 + 1.0 + 0.5 + 1.5) / 4)
    assert row.error == pytest.approx((0 + 1 + 2 + 3 + 4) / 5)
    assert row.error_se == pytest.approx(np.sqrt(2.5 / 5))
    assert row.methods == "wild; t"


def test_what_is_never_printed_has_no_coverage():
    none = [Outcome("mean", -np.inf, np.inf, 1.0, 1.0, "none")]
    (row,) = summarise(Case("interval", "toy", toy), none * 300)
    assert (row.printed, row.verdict, row.methods) == (0, "not printed", "")
    assert np.isnan(row.share)


def test_a_bound_holds_if_it_is_not_above_the_truth():
    lows = [0.2, 0.9, 1.1]
    case = Case("bound", "toy", toy, one_sided=True)
    (row,) = summarise(case, [Outcome("low", low, np.inf, 1.0, 1.2, "m") for low in lows])
    assert (row.printed, row.covered, row.too_high) == (3, 2, 1)
    assert row.width == pytest.approx(1.2 - np.mean(lows))


@pytest.mark.parametrize(
    ("covered", "sides", "verdict"),
    [
        (935, 2, "no"),
        (937, 2, "yes"),
        (963, 2, "yes"),
        (965, 2, "yes, wider than needed"),
        (1000, 1, "yes"),
    ],
)
def test_the_verdict_allows_two_binomial_standard_errors(covered, sides, verdict):
    row = Row("interval", "toy", "mean", sides, 0.95, 1000, 1000, covered, 0, 0, 1.0, 0.0, 0.0, "t")
    assert row.verdict == verdict


def test_few_logs_can_show_a_failure_but_not_coverage():
    row = Row("interval", "toy", "mean", 2, 0.95, 60, 60, 57, 0, 0, 1.0, 0.0, 0.0, "t")
    assert row.verdict == "too few logs"
    assert row._replace(logs=1000).verdict == "rarely printed"
    assert row._replace(covered=50).verdict == "no"


def test_known_coverage_comes_out(tmp_path):
    def measure(seed):
        totals = ClusterTotals(np.random.default_rng(seed).normal(size=12), np.ones(12))
        found = t_interval(totals, confidence=0.95, target="new queries")
        yield Outcome("mean", found.low, found.high, 0.0, found.value, found.method)

    case = Case("interval", "normal", measure)
    (row,) = summarise(case, run_case(case, tmp_path, logs=400, tick=lambda: None))
    assert row.verdict == "yes"


def test_finished_logs_are_not_drawn_again_but_torn_ones_are(tmp_path):
    drawn = []

    def measure(seed):
        drawn.append(seed)
        return [Outcome(name, 0.0, 1.0, 0.5, 0.5, "m") for name in ("first", "second")]

    case = Case("interval", "toy", measure)
    first = run_case(case, tmp_path, logs=3, tick=lambda: None)
    (path,) = tmp_path.iterdir()
    path.write_text(path.read_text()[:-20])
    again = run_case(case, tmp_path, logs=4, tick=lambda: None)
    assert drawn == [0, 1, 2, 2, 3]
    assert again[:6] == first


def test_rows_survive_the_file(tmp_path):
    rows = read_rows(TABLE)
    write_rows(rows, tmp_path / "again.csv")
    assert read_rows(tmp_path / "again.csv") == rows


def test_the_page_shows_the_table():
    page = PAGE.read_text(encoding="utf-8")
    rows = read_rows(TABLE)
    assert filled(page, rows) == page, "run: python -m tests.coverage_tables --finished"
    assert {row.kind for row in rows} == set(_marks(page))
    summary = SUMMARY.read_text(encoding="utf-8")
    assert _marks(summary) == ["summary"]
    assert filled(summary, rows) == summary


def test_what_does_not_cover_is_not_printed():
    """One row in forty is below two standard errors by chance, and none below three."""
    rows = [row for row in read_rows(TABLE) if row.printed]
    below = [row for row in rows if row.verdict == "no"]
    assert len(below) <= len(rows) / 40
    for row in below:
        assert row.share >= row.nominal - 3 * np.sqrt(row.nominal * (1 - row.nominal) / row.printed)


def test_every_interval_has_a_thousand_logs():
    few = [row.case for row in read_rows(TABLE) if row.logs < 1000 and row.kind != "selection"]
    assert few == []
    measured = {(row.kind, row.case) for row in read_rows(TABLE)}
    assert measured == {(case.kind, case.name) for case in all_cases()}


def _marks(page: str) -> list[str]:
    return [line.split()[2] for line in page.splitlines() if line.startswith("<!-- coverage ")]


def test_the_truth_is_that_of_many_sampled_queries():
    world = population()
    values, rng = world.values["difference"], np.random.default_rng(0)
    sampled = values[rng.integers(0, len(values), 20_000)]
    assert abs(sampled.mean() - values.mean()) < 3 * values.std() / np.sqrt(20_000)
    both = world.values["policy"] - world.values["production"]
    assert np.allclose(values, both)


@pytest.mark.slow
@pytest.mark.parametrize("name", MAIN)
def test_main_intervals_cover_as_well_as_the_page_says(name, tmp_path):
    """Within three binomial standard errors, since there are 21 rows; none may be worse."""
    (case,) = [case for case in all_cases() if case.name == name]
    published = {row.quantity: row for row in read_rows(TABLE) if row.case == name}
    for row in summarise(case, run_case(case, tmp_path, logs=200, tick=lambda: None)):
        shown = published[row.quantity].printed / published[row.quantity].logs
        assert abs(row.printed / row.logs - shown) <= 3 * np.sqrt(shown * (1 - shown) / row.logs)
        if not row.printed:
            continue
        expected = min(row.nominal, published[row.quantity].share)
        assert row.share >= expected - 3 * np.sqrt(expected * (1 - expected) / row.printed), row
