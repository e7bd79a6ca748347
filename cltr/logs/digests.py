"""Digests of interactions, so that logs that hold the same interactions are not added up.

A log keeps the smallest of the hashes that its interactions have anyway: all of a small log, a
fixed number of a large one. Of two logs the hashes below both limits are a random sample of the
interactions, the same sample for both, so what they share shows in it. Hashes are duckdb's, so
they are compared only if the same version made them of ids of the same types.
"""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cltr.files.table_files import arrays

if TYPE_CHECKING:
    from cltr.logs.id_coding import Tally

MOST_DIGESTS = 65_536
"""Digests that a log keeps: half a megabyte."""
Digests = NDArray[np.uint64]


def digests_of(tally: "Tally") -> tuple[Digests | None, str]:
    """The smallest digests of a counted log in order, and what they are made of."""
    if not tally.has_sessions or tally.elsewhere is not None:
        return None, ""
    found = arrays(
        tally.connection,
        f"SELECT DISTINCT key FROM runs ORDER BY key LIMIT {MOST_DIGESTS}",
    )
    version = tally.row("SELECT version()")[0]
    kind = [version, tally.columns["query"], tally.columns["session"], str(tally.salt)]
    return np.asarray(found["key"], np.uint64), " ".join(kind)


def shared_share(first: Digests, second: Digests) -> tuple[int, float]:
    """How many digests two logs share, and about what share of the smaller one that is.

    Example:
        >>> numbers = np.arange(10, dtype=np.uint64)
        >>> shared_share(numbers[:6], numbers[4:])
        (2, 0.3333333333333333)
    """
    limit = min(_limit(first), _limit(second))
    first, second = first[first <= limit], second[second <= limit]
    shared = len(np.intersect1d(first, second))
    return shared, shared / max(min(len(first), len(second)), 1)


def together(parts: list[Digests]) -> Digests:
    """The digests of all interactions of several logs."""
    limit = min(map(_limit, parts))
    every = np.unique(np.concatenate(parts))
    kept: Digests = every[every <= limit][:MOST_DIGESTS]
    return kept


def _limit(digests: Digests) -> Any:
    """Up to which digest a log knows all of its own."""
    full = len(digests) >= MOST_DIGESTS
    return digests[-1] if full else np.iinfo(np.uint64).max
