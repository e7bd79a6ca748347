"""Guards the stream of rows from duckdb: all of them, in order, and errors that are raised."""

import duckdb
import numpy as np
import pytest

from cltr.files.row_batches import batches

KINDS = {"a": "uint64", "b": "int16", "c": "uint8"}
TABLE = "(SELECT hash(i) AS a, i % 1000 - 500 AS b, i % 2 = 0 AS c FROM range({n}) AS t(i))"


def read(connection, table):
    """All batches, copied before the next one comes."""
    return [
        {name: values.copy() for name, values in batch.items()}
        for batch in batches(connection, table, KINDS)
    ]


@pytest.mark.parametrize("n", [0, 1, 2048, 300_001])
def test_all_rows_come_in_order(n):
    connection = duckdb.connect()
    found = read(connection, TABLE.format(n=n))
    expected = connection.execute(f"SELECT * FROM {TABLE.format(n=n)}").fetchnumpy()
    for name, kind in KINDS.items():
        values = np.concatenate([np.zeros(0, kind), *(batch[name] for batch in found)])
        assert values.dtype == kind
        np.testing.assert_array_equal(values, expected[name].astype(kind))


def test_what_fails_on_the_way_is_raised():
    connection = duckdb.connect()
    with pytest.raises(duckdb.Error, match="too late"):
        read(
            connection,
            "(SELECT i AS a, 1 AS b, CASE WHEN i > 500000 THEN error('too late') ELSE 0 END AS c "
            "FROM range(600000) AS t(i))",
        )


def test_a_connection_is_free_again_after_a_stream_that_was_left():
    connection = duckdb.connect()
    stream = batches(connection, TABLE.format(n=1_000_000), KINDS)
    next(stream)
    stream.close()
    assert connection.execute("SELECT 1").fetchall() == [(1,)]
