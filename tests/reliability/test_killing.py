"""Commands killed at random moments, and under faults of the machine.

After a kill there is no file that opens as if whole, and the command that resumes gives the same
bits. A fault is one line.
"""

import pytest

from tests.reliability.apart import wrong_trials


def test_every_command_survives_a_kill_a_second_process_and_faults_of_the_machine():
    """Full disk, read-only disk, limits of file sizes, handles and memory, full stdout."""
    assert wrong_trials("some_of_each.some_of_each()") == []


@pytest.mark.slow
def test_commands_survive_many_kills():
    assert wrong_trials("killing.kill(200, first=100_000)") == []


@pytest.mark.slow
def test_every_command_survives_every_fault():
    assert wrong_trials("faults.all_faults()") == []
