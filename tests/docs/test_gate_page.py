"""Guards the tables of docs/gate-rates.md: each is made of its file of results."""

import pytest

from tests.example_files import load
from tests.gate_rates import PAGE, RAMPS, RATES, cases, table
from tests.page_tables import read_table, write_table


def test_rates_are_those_of_their_file():
    assert cases(RATES)
    for users, click_model in cases(RATES):
        shown = read_table(PAGE, f"gate-rates {users} {click_model}")
        assert shown == table(RATES, users, click_model)


def test_ramps_are_those_of_their_file():
    assert read_table(PAGE, "ramps") == load("ramp").table(RAMPS)


def test_a_page_without_a_place_for_a_table_is_refused(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- table: one -->\nold\n<!-- end of table -->\nafter\n")
    write_table(page, "one", "new")
    assert read_table(page, "one") == "new"
    assert page.read_text().endswith("<!-- end of table -->\nafter\n")
    with pytest.raises(ValueError, match="no place for the table 'two'"):
        write_table(page, "two", "new")
