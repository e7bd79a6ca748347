"""What in a log would make an estimate wrong: one function a question, each with its number."""

from collections.abc import Iterator

from cltr.checks.evidence import Evidence, Finding
from cltr.checks.impressions import (
    clicks,
    deterministic,
    displays,
    overlap,
    part_for_tests,
    position_bias,
    truncated,
)
from cltr.checks.support import click_model, effective_sample, policy
from cltr.checks.users import leakage, outliers, problems

__all__ = ["Evidence", "Finding", "find_all"]

QUESTIONS = (
    clicks,
    part_for_tests,
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
