"""The log doctor: what in a log would make an estimate wrong, with why, and what to do."""

from pathlib import Path
from typing import Any

import numpy as np

from cltr.checks import Evidence, Finding, find_all
from cltr.errors import CltrError
from cltr.interfaces import ClickModel
from cltr.logs.log_file import open_log

VERDICTS = {
    "fatal": "meaningless",
    "warning": "careful",
}
"""What the worst finding makes of a log; otherwise it is ``sound``."""


def check_log(path: Path, click_model: ClickModel) -> dict[str, Any]:
    """Findings on a log file, ready for JSON.

    Args:
        path: a log from ``cltr ingest`` or ``cltr simulate``.
        click_model: the one that estimators would assume.
    """
    evidence = Evidence(open_log(path), click_model)
    findings = list(find_all(evidence))
    impressions, clicks = evidence.by_rank
    rates = clicks / np.maximum(impressions, 1)
    parts = evidence.log.statistics
    return {
        "log": str(path),
        "verdict": verdict(findings),
        "click_model": click_model.name,
        "n_interactions": {split: part.n_interactions for split, part in parts.items()},
        "queries": int((evidence.whole.displays > 0).sum()),
        "documents": int((evidence.whole.impressions.sum(-1) > 0).sum()),
        "impressions_by_rank": impressions.tolist(),
        "click_rate": [round(float(rate), 6) for rate in rates],
        "findings": [finding.plain() for finding in findings],
    }


def verdict(findings: list[Finding]) -> str:
    """``meaningless`` if any finding makes estimates so, ``careful``, or ``sound``."""
    levels = {finding.level for finding in findings}
    return next((word for level, word in VERDICTS.items() if level in levels), "sound")


def plot_ranks(report: dict[str, Any], path: Path) -> None:
    """Impressions and click rate by rank, as a picture (PNG, SVG or PDF by its ending)."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from cltr.files.storage import write_beside

    kind = path.suffix.lower().removeprefix(".")
    if kind not in ("png", "svg", "pdf"):
        raise CltrError(f"{path}: a picture's name must end in .png, .svg or .pdf")
    impressions, rates = np.array(report["impressions_by_rank"]), np.array(report["click_rate"])
    ranks = np.arange(1, len(rates) + 1)
    error = 1.96 * np.sqrt(rates * (1 - rates) / np.maximum(impressions, 1))
    figure, (left, right) = pyplot.subplots(1, 2, figsize=(9, 3.2), layout="constrained")
    left.bar(ranks, impressions, color="#9aa7b5")
    left.set(xlabel="rank", ylabel="impressions")
    right.errorbar(ranks, rates, yerr=error, fmt="o-", color="#24557f", capsize=2, markersize=4)
    right.set(xlabel="rank", ylabel="clicks per impression", ylim=(0, None))
    for axes in (left, right):
        axes.set_xticks(ranks if len(ranks) <= 20 else ranks[:: len(ranks) // 10])
        axes.spines[["top", "right"]].set_visible(False)
    figure.suptitle(Path(report["log"]).name, fontsize=10)
    with write_beside(path) as partial:
        figure.savefig(partial, format=kind, dpi=150)
    pyplot.close(figure)
