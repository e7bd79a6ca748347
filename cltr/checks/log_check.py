"""The log doctor: what a log can be used for, with the reasons and all numbers."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cltr.checks import USES, Evidence, Finding, UseVerdict, find_all, verdict_on
from cltr.checks.drift import periods_of
from cltr.checks.findings import Use
from cltr.checks.repetition import repeat_probabilities
from cltr.interfaces import ClickModel
from cltr.logs.log_file import open_log
from cltr.logs.shown import documents_shown, queries_shown

LARGEST_QUERIES = 50
"""Queries whose share of the traffic is listed."""


@dataclass(frozen=True)
class LogVerdicts:
    """What was found in a log, and the verdict on each use of it."""

    log: str
    verdicts: Mapping[Use, UseVerdict]
    findings: tuple[Finding, ...]
    """In the order in which they matter."""
    numbers: Mapping[str, Any]
    """Counts of the log: interactions by part, impressions and click rate by rank, and so on."""

    def supports(self, use: Use) -> bool:
        """Whether the log can be used so, if only with care."""
        return self.verdicts[use].answer != "no"

    def finding(self, name: str) -> Finding:
        """A finding by its name."""
        return next(finding for finding in self.findings if finding.name == name)

    def plain(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "log": self.log,
            "verdicts": {use: verdict.plain() for use, verdict in self.verdicts.items()},
            **self.numbers,
            "findings": [finding.plain() for finding in self.findings],
        }


def check_log(path: Path | str, click_model: ClickModel | None = None) -> LogVerdicts:
    """Check a log file.

    Args:
        path: a log from ``cltr ingest`` or ``cltr simulate``.
        click_model: one that is known from elsewhere, if any; without, position bias must follow
            from the log itself.
    """
    return judge(Evidence(open_log(Path(path)), click_model), name=str(path))


def judge(evidence: Evidence, *, name: str = "log") -> LogVerdicts:
    """Ask every question of a log, and decide on each use."""
    findings = tuple(find_all(evidence))
    verdicts = {use: verdict_on(use, findings) for use in USES}
    return LogVerdicts(name, verdicts, findings, _numbers(evidence))


def _numbers(evidence: Evidence) -> dict[str, Any]:
    impressions, clicks = evidence.by_rank
    rates = clicks / np.maximum(impressions, 1)
    parts, model = evidence.log.statistics, evidence.click_model
    traffic = np.sort(evidence.whole.query_weights)[::-1]
    return {
        "click_model": None if model is None else model.name,
        "n_interactions": {split: part.n_interactions for split, part in parts.items()},
        "queries": queries_shown(parts, shared=evidence.shared),
        "documents": documents_shown(parts, shared=evidence.shared),
        "impressions_by_rank": impressions.tolist(),
        "click_rate": [round(float(rate), 6) for rate in rates],
        "traffic_of_largest_queries": [
            round(float(share), 6) for share in traffic[:LARGEST_QUERIES] if share > 0
        ],
        "traffic_by_repetition": _traffic_by_repetition(evidence),
        "periods": periods_of(evidence),
    }


def _traffic_by_repetition(evidence: Evidence) -> list[float]:
    """Share of the interactions in each tenth of the repeat probability; the last: fixed lists."""
    repeats = repeat_probabilities(evidence.whole)
    again = ~np.isnan(repeats)
    counts, _ = np.histogram(
        repeats[again], bins=10, range=(0.0, 1.0), weights=evidence.whole.query_weights[again]
    )
    return [round(float(share), 6) for share in counts]
