"""Guards tables of results: each is what its file of results gives."""

import importlib.util
import re
from pathlib import Path

import pytest

from tests.page_tables import read_table

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture(scope="module")
def fill_results():
    spec = importlib.util.spec_from_file_location("fill_results", DOCS / "fill_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_numbers_in_sentences_are_those_of_the_results(fill_results):
    page = (DOCS / "performance.md").read_text(encoding="utf-8")
    assert page.count("<!-- number ") >= len(fill_results.numbers())
    assert not re.search(r"^ *<!-- number", page, re.M), "this would end the paragraph"
    assert fill_results.with_numbers(page) == page, "run: python docs/fill_results.py"


def test_every_table_is_that_of_its_results(fill_results):
    found = fill_results.tables()
    pages = "safety variance training benchmarks performance scale"
    assert {page for page, _ in found} == {f"{page}.md" for page in pages.split()}
    for (page, name), table in found.items():
        assert read_table(DOCS / page, name) == table, f"{page}: run: python docs/fill_results.py"
