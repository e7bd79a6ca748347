"""Guards the split by md5: Python and duckdb agree on every id, and shares are spread evenly."""

from hashlib import md5

import duckdb
import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from cltr.files.portable_split import share, share_sql

IDS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=20)


@given(IDS, st.integers(0, 2**40))
def test_law_python_and_duckdb_agree(id, seed):
    sql = f"SELECT {share_sql('id', seed=seed)} FROM (SELECT ? AS id)"
    assert duckdb.execute(sql, [id]).fetchone()[0] == share(id, seed=seed)


def test_the_share_is_what_the_docstring_says():
    digits = md5(b"7:red shoes").hexdigest()[:8]
    assert share("red shoes", seed=7) == int(digits, 16) / 2**32


def test_numbers_are_split_like_their_text():
    assert duckdb.execute(f"SELECT {share_sql('42')}").fetchone()[0] == share("42")
    assert duckdb.execute(f"SELECT {share_sql('NULL')}").fetchone()[0] is None


def test_shares_are_even():
    shares = np.sort([share(f"query {number}") for number in range(4000)])
    # Kolmogorov's distance; 1.95 / sqrt(n) is passed by chance once in a thousand.
    away = np.abs(shares - (np.arange(4000) + 0.5) / 4000).max()
    assert away < 1.95 / np.sqrt(4000)
