"""[7] What in a log would make an estimate wrong: one function a question, each with its number."""

from collections.abc import Iterator

from cltr.findings.estimates import click_model, effective_sample, policy
from cltr.findings.evidence import Evidence, Finding
from cltr.findings.people import leakage, outliers, problems
from cltr.findings.shown import (
    clicks,
    deterministic,
    displays,
    overlap,
    position_bias,
    truncated,
)

__all__ = ["Evidence", "Finding", "find_all"]

QUESTIONS = (
    clicks,
    position_bias,
    overlap,
    deterministic,
    displays,
    policy,
    click_model,
    effective_sample,
    truncated,
    outliers,
    leakage,
    problems,
)


def find_all(evidence: Evidence) -> Iterator[Finding]:
    """Every question, in the order in which they matter."""
    for question in QUESTIONS:
        yield from question(evidence)
