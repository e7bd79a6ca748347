"""Rows that are worked on together so that what is computed stays in the processor's cache."""

from collections.abc import Iterator

ROWS = 2048
"""In a block: 150 float32 numbers a row are 1.2 MB."""


def cache_blocks(n: int, rows: int = ROWS) -> Iterator[slice]:
    """All of ``n`` rows, ``rows`` at a time; the last block has what is left besides.

    Matrix products of all rows at once and of such blocks have the same bits, since libraries work
    on rows in small groups, and only the last of these groups can be a part of one.

    Example:
        >>> list(cache_blocks(5_000))
        [slice(0, 2048, None), slice(2048, 5000, None)]
    """
    for start in range(0, max(n - rows, 0) + 1, rows):
        rest = n - start
        yield slice(start, n if rest < 2 * rows else start + rows)
