"""What a log holds, in numbers ready for JSON."""

from pathlib import Path
from typing import Any

import numpy as np

from cltr.logs.log_file import LogFile


def report(log: LogFile, out: Path, *, seconds: float) -> dict[str, Any]:
    """What was ingested, ready for JSON."""
    parts = log.statistics
    together = np.sum([part.impressions.sum(0) for part in parts.values()], axis=0)
    clicks = np.sum([part.clicks.sum(0) for part in parts.values()], axis=0)
    rates = clicks / np.maximum(together, 1)
    lists = log.lists
    return {
        **{key: log.description[key] for key in ("format", "files", "top_k", "sessions")},
        "n_interactions": {split: part.n_interactions for split, part in parts.items()},
        "impressions": {split: int(part.impressions.sum()) for split, part in parts.items()},
        "clicks": {split: int(part.clicks.sum()) for split, part in parts.items()},
        "queries": lists.n_queries if lists else None,
        "documents": lists.n_documents if lists else None,
        "impressions_by_rank": together.tolist(),
        "click_rate": [round(float(rate), 6) for rate in rates],
        "scores": log.scores is not None,
        "propensities": log.propensities is not None,
        "problems": log.description["problems"],
        "split": log.description["split"],
        "notes": log.description["notes"],
        "seconds": round(seconds, 3),
        "log": str(out),
    }
