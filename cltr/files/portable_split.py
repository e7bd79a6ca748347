"""A number in [0, 1) for every id, the same in every engine: how ids are split into parts.

The share of an id is the first eight hexadecimal digits of ``md5("SEED:ID")`` divided by 2³². The
id is UTF-8 text. Python (:func:`share`), duckdb (:func:`share_sql`) and any warehouse with an md5
function therefore put an id into the same part. For example, in Spark:
``conv(substr(md5(concat('1:', id)), 1, 8), 16, 10) / 4294967296``.

The hash decides who is in which part. It is no protection: whoever knows an id knows its part.
"""

from hashlib import md5

BUCKETS = 2**32
"""Shares are multiples of one in this many."""


def share(id: str, *, seed: int = 1) -> float:
    """The share of one id.

    Example:
        >>> share("tea"), share("tea", seed=2)
        (0.43291991925798357, 0.8512351394165307)
    """
    text = f"{seed}:{id}".encode("utf-8", "surrogatepass")
    return int(md5(text, usedforsecurity=False).hexdigest()[:8], 16) / BUCKETS


def share_sql(id: str, *, seed: int = 1) -> str:
    """The same as duckdb's SQL, for a column or expression ``id``; NULL where the id is missing.

    Example:
        >>> import duckdb
        >>> duckdb.execute(f"SELECT {share_sql('id')} FROM (SELECT 'tea' AS id)").fetchone()[0]
        0.43291991925798357
    """
    return f"('0x' || substr({digest_sql(id, seed=seed)}, 1, 8))::UBIGINT / {BUCKETS}.0::DOUBLE"


def digest_sql(id: str, *, seed: int = 1) -> str:
    """SQL of the whole digest: as text it is below ``f"{round(share * BUCKETS):08x}"`` for a share.

    Comparing digits is cheaper than making numbers of them.
    """
    return f"md5('{seed}:' || ({id})::VARCHAR)"
