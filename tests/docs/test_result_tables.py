"""Guards tables of results: each is what its file of results gives."""

import importlib.util
from pathlib import Path

from tests.page_tables import read_table

DOCS = Path(__file__).parents[2] / "docs"


def test_every_table_is_that_of_its_results():
    spec = importlib.util.spec_from_file_location("fill_results", DOCS / "fill_results.py")
    fill_results = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(fill_results)
    found = fill_results.tables()
    pages = ("safety.md", "variance.md", "training.md", "benchmarks.md", "performance.md")
    assert {page for page, _ in found} == {*pages}
    for (page, name), table in found.items():
        assert read_table(DOCS / page, name) == table, f"{page}: run: python docs/fill_results.py"
