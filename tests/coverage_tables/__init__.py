"""How often the intervals that the tool prints contain the truth: docs/coverage.md."""

from tests.coverage_tables.record import Case


def all_cases() -> list[Case]:
    """Every case of the page, in its order."""
    from tests.coverage_tables import bound_cases, fit_cases, learned_cases, off_policy_cases

    modules = (off_policy_cases, learned_cases, fit_cases, bound_cases)
    return [case for module in modules for case in module.cases()]
