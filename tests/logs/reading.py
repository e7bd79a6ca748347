"""Read small logs in tests."""

import pytest

from cltr.errors import DataError, UsageError
from cltr.files.table_files import columns_of, workspace
from tests.plain_logs import rows

LOG = rows((("a", "b"), ("b",)), (("b", "a"), ()))


def read(reader, *paths):
    """The rows that a reader gives, as dictionaries."""
    with workspace() as connection:
        query = reader.select(connection, paths)
        names = list(columns_of(connection, query))
        return [dict(zip(names, row, strict=True)) for row in connection.execute(query).fetchall()]


def refusal(reader, *paths):
    with pytest.raises((DataError, UsageError)) as caught:
        read(reader, *paths)
    assert "\n" not in str(caught.value)
    return str(caught.value)
