"""Guards which columns of a table are found by their names, and what is said of others."""

import pytest

from cltr.errors import DataError
from cltr.files.table_columns import FURTHER, KNOWN, TableColumns
from cltr.logs.readers import LongReader


def columns_of(*names: str, flags: bool = True) -> TableColumns:
    types = dict.fromkeys(names, "VARCHAR")
    return TableColumns(types, LongReader().options, where="log.csv", flags=flags)


def refusal(columns: TableColumns, role: str) -> str:
    with pytest.raises(DataError) as caught:
        columns.find(role)
    return str(caught.value)


@pytest.mark.parametrize(
    ("role", "name"),
    [("document", "sku"), ("document", "Product"), ("query", "term"), ("position", "slot")],
)
def test_less_common_names_are_found(role, name):
    assert columns_of("a", name, "b").find(role) == name


def test_a_common_name_comes_before_a_less_common_one():
    assert columns_of("sku", "doc_id").find("document") == "doc_id"
    assert columns_of("query_text", "query_id").find("query") == "query_id"


def test_two_less_common_names_are_not_told_apart():
    assert "sku and product could be it" in refusal(columns_of("sku", "product"), "document")


def test_no_name_means_two_things():
    names = [
        name
        for role in ("query", "document", "position", "click", "score", "session")
        for name in (*KNOWN[role], *FURTHER.get(role, ()))
    ]
    assert len(names) == len({*names})


def test_what_is_known_and_the_option_are_said():
    line = refusal(columns_of("q", "thing"), "document")
    assert line.startswith("log.csv: which column is the document? no column has a name that cltr ")
    assert "(document, document_id, doc, " in line and ", sku, product, " in line
    assert line.endswith("there are q, thing; name it with --document-column")
    line = refusal(columns_of("q", "thing", flags=False), "document")
    assert line.endswith("; rename the column to 'document'")
