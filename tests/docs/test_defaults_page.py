"""Guards docs/defaults.md and defaults-tables.md: their tables are those of docs/defaults.csv."""

from tests.safety_tables.page import PAGES, TABLE, filled
from tests.safety_tables.record import read_folds
from tests.safety_tables.shops import DOCS, _read, summary


def test_tables_are_those_of_the_results():
    runs = read_folds(TABLE)
    for path in PAGES:
        page = path.read_text(encoding="utf-8")
        assert filled(page, runs) == page, "run: python -m tests.safety_tables --finished"


def test_shops_are_those_of_the_results():
    page = " ".join(PAGES[0].read_text(encoding="utf-8").split())
    for name in ("defaults-shop.csv", "defaults-shop-sorted.csv"):
        assert summary(list(_read(DOCS / name).values())) in page
