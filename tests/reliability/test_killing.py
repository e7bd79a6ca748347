"""Commands killed at random moments, and under faults of the machine."""

import pytest

from tests.reliability.faults import all_faults
from tests.reliability.killing import COMMANDS, kill


def _wrong(trials):
    return [trial for trial in trials if not trial.survived]


@pytest.mark.slow
def test_killed_commands_leave_nothing_that_seems_whole_and_agree_when_run_again():
    assert _wrong(kill(len(COMMANDS) - 1, first=len(COMMANDS))) == []


@pytest.mark.slow
def test_faults_of_the_machine_are_one_line():
    assert _wrong(all_faults(commands=("simulate", "ingest"), disks=False)) == []


@pytest.mark.slow
def test_commands_survive_many_kills():
    assert _wrong(kill(200, first=100_000)) == []


@pytest.mark.slow
def test_every_command_survives_every_fault():
    assert _wrong(all_faults(disks=False)) == []
