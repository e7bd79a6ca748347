"""The reliability page shows what was counted."""

import json

from tests.page_tables import read_table
from tests.reliability.counts import ATTACKS, DOCS, PAGE, PLACE, tables


def test_the_page_has_the_counts_of_its_files():
    assert read_table(PAGE, PLACE) == tables()


def test_counts_add_up():
    for name in ATTACKS:
        if not (DOCS / f"reliability-{name}.json").exists():
            continue
        known = json.loads((DOCS / f"reliability-{name}.json").read_text())
        assert known["tried"] == sum(sum(one.values()) for one in known["by"].values())
        assert known["tried"] == sum(known["commits"].values())
        assert known["tried"] - known["survived"] == len(known["wrong"])


def test_commands_of_the_page_are_those_of_the_program():
    text = PAGE.read_text()
    for option in ("--fuzz", "--kills", "--pairs", "--faults"):
        assert f"python -m tests.reliability {option}" in text
