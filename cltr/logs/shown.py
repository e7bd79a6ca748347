"""How many documents and queries a log has shown, in all its parts."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.types import ClickStatistics


def documents_shown(parts: Mapping[str, ClickStatistics], *, shared: bool) -> int:
    """Documents that were ever shown for their query.

    Args:
        parts: counts by part.
        shared: whether the parts lie on the same documents.
    """
    return _count([np.asarray(part.impressions.any(-1)) for part in parts.values()], shared=shared)


def queries_shown(parts: Mapping[str, ClickStatistics], *, shared: bool) -> int:
    """Queries that ever came; arguments as of :func:`documents_shown`."""
    return _count([part.displays > 0 for part in parts.values()], shared=shared)


def _count(seen: Sequence[NDArray[Any]], *, shared: bool) -> int:
    if shared:
        return int(np.logical_or.reduce(seen).sum())
    return sum(int(part.sum()) for part in seen)
