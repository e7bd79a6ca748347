"""Damaged inputs of every kind: a few in each run of the tests, thousands in `make science`."""

import pytest

from tests.reliability.targets import TARGETS
from tests.reliability.watching import fuzz


def _wrong(trials):
    return [trial for trial in trials if not trial.survived]


@pytest.mark.slow  # until it is steady on a busy machine
def test_damaged_inputs_are_used_or_refused_in_one_line():
    """No traceback, no internal error, no crash, no hang, and no more than a second or 100 MB."""
    assert _wrong(fuzz(8 * len(TARGETS))) == []


@pytest.mark.slow
def test_many_damaged_inputs_are_used_or_refused_in_one_line():
    assert _wrong(fuzz(2_000, first=1_000_000)) == []
