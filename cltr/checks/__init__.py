"""What a log can be used for, and what in it would make an estimate wrong.

Each question is a function of the evidence that yields findings; a finding says how bad it is for
each use of the log. The verdict on a use is its worst finding.
"""

from collections.abc import Iterator

from cltr.checks.completeness import (
    clickless,
    clicks,
    non_clicks,
    outliers,
    part_for_tests,
    problems,
    truncated,
)
from cltr.checks.dominance import busiest_user, largest_query
from cltr.checks.drift import drift
from cltr.checks.evidence import Evidence
from cltr.checks.findings import USES, Finding, UseVerdict, verdict_on
from cltr.checks.position import click_rates, flat_examination, identification
from cltr.checks.production import deterministic, exposure
from cltr.checks.support import click_model, overlap, rare_queries
from cltr.extensions import LogQuestion
from cltr.plugins import registry
from cltr.plugins.origins import call, origin_of

__all__ = ["USES", "Evidence", "Finding", "UseVerdict", "find_all", "verdict_on"]

QUESTIONS = (
    non_clicks,
    clicks,
    problems,
    deterministic,
    identification,
    rare_queries,
    overlap,
    click_model,
    exposure,
    outliers,
    clickless,
    truncated,
    drift,
    largest_query,
    busiest_user,
    flat_examination,
    click_rates,
    part_for_tests,
)
"""In the order in which they matter: of equally bad findings the first is a verdict's reason."""


def find_all(evidence: Evidence) -> Iterator[Finding]:
    """Every question, in the order in which they matter; those that are registered come last."""
    for question in QUESTIONS:
        yield from question(evidence)
    for name in registry().names("finding"):
        yield from _answers(registry().create("finding", name), evidence)


def _answers(question: LogQuestion, evidence: Evidence) -> list[Finding]:
    """What a registered question finds; what goes wrong in it is said to be its own fault."""
    origin = origin_of(question)
    found: list[Finding] = call(origin, "ask", lambda: list(question.ask(evidence)))
    wrong = [one for one in found if not isinstance(one, Finding)]
    if origin and wrong:
        raise origin.fault(f"ask must give Finding objects, got {wrong[0]!r}")
    return found
