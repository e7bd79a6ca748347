"""Damaged inputs of every kind: some in each run of the tests, thousands in `make science`."""

import pytest

from tests.reliability import watching
from tests.reliability.targets import TARGETS
from tests.reliability.watching import fuzz


def _wrong(trials):
    return [trial for trial in trials if not trial.survived]


def test_damaged_inputs_are_used_or_refused_in_one_line():
    """No traceback, no internal error, no crash, no hang, and no more than a second or 100 MB."""
    assert _wrong(fuzz(8 * len(TARGETS))) == []


@pytest.mark.slow
def test_many_damaged_inputs_are_used_or_refused_in_one_line():
    assert _wrong(fuzz(2_000, first=1_000_000)) == []


CHILD = """
import faulthandler, os, signal, sys, time
faulthandler.register(signal.SIGUSR1)
os.write(1, b'["first", 0, "used"]\\ndamaged\\n')
{then}
"""


@pytest.mark.parametrize(
    ("then", "outcome"),
    [
        ("while True: pass", "hang over 0.2 s"),
        ("time.sleep(100)", "blocked"),
        ("os.abort()", "died with -6"),
        ("sys.exit('gone')", "died with 1"),
    ],
)
def test_a_process_that_is_lost_is_a_trial_that_failed(tmp_path, monkeypatch, then, outcome):
    """The watcher itself: it tells a hang, a wait and a crash apart, and goes on."""
    monkeypatch.setattr(watching, "LONGEST", 0.2)
    monkeypatch.setattr(watching, "BLOCKED", 5.0)
    script = tmp_path / "child.py"
    script.write_text(CHILD.format(then=then))
    monkeypatch.setattr(watching, "CHILD", [str(script)])
    first, lost = list(watching._watched([(0, 0), (1, 0)]))
    assert first.survived
    assert lost.outcome == outcome
    assert lost.target == TARGETS[1].name
