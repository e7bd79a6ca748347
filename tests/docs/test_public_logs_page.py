"""Guards docs/public-logs.md: its tables and numbers are those of docs/public-logs.json."""

import json

from tests.page_tables import read_table
from tests.public_logs import PAGE, RESULTS, tables

FOUND = json.loads(RESULTS.read_text(encoding="utf-8"))


def test_tables_are_those_of_the_results():
    for name, table in tables(FOUND).items():
        assert read_table(PAGE, name) == table, "run: python -m tests.public_logs"


def test_the_text_says_how_much_was_fitted():
    page = PAGE.read_text(encoding="utf-8")
    for result in FOUND.values():
        sizes = result["interactions"]
        assert f"{sizes['fitted']:,} interactions on {result['queries']:,} queries" in page
        assert f"{sizes['held_out']:,} were held out" in page
    yandex = FOUND["yandex"]
    pbm = next(one["examination"] for one in yandex["models"] if one["name"] == "pbm")
    pairs = zip(pbm, yandex["all pairs"], strict=True)
    assert max(abs(one - other) for one, other in pairs) < 0.03
