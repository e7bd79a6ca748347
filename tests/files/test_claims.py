"""Two writers of one file, and what a killed one leaves behind."""

import multiprocessing
import os
import signal
import time

import pytest

from cltr.errors import DataError
from cltr.files.claims import PARTIAL, abandon, claim
from cltr.files.storage import write_beside

SPAWN = multiprocessing.get_context("fork")


def hold(path, entered):
    with write_beside(path) as partial:
        partial.write_text("half")
        entered.set()
        time.sleep(60)


@pytest.fixture
def holder(tmp_path):
    entered = SPAWN.Event()
    process = SPAWN.Process(target=hold, args=(tmp_path / "a.txt", entered))
    process.start()
    assert entered.wait(30)
    yield process
    process.kill()
    process.join()


def test_the_second_of_two_writers_is_refused(holder, tmp_path):
    with (
        pytest.raises(DataError, match=r"a\.txt: another process is writing it"),
        write_beside(tmp_path / "a.txt"),
    ):
        pass
    assert (tmp_path / f".a.txt{PARTIAL}").read_text() == "half"


def test_what_a_killed_writer_left_is_used_again(holder, tmp_path):
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    assert [path.name for path in tmp_path.iterdir()] == [f".a.txt{PARTIAL}"]
    with write_beside(tmp_path / "a.txt") as partial:
        assert partial.read_text() == ""
        partial.write_text("whole")
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "whole"


def test_a_writer_may_wait_for_the_other(holder, tmp_path):
    def write():
        with write_beside(tmp_path / "a.txt", wait=True) as partial:
            partial.write_text("second")

    waiting = SPAWN.Process(target=write)
    waiting.start()
    waiting.join(0.3)
    assert waiting.is_alive()
    os.kill(holder.pid, signal.SIGKILL)
    waiting.join(30)
    assert (tmp_path / "a.txt").read_text() == "second"


def test_one_process_does_not_write_a_file_twice_at_once(tmp_path):
    with (
        claim(tmp_path / "a.txt"),
        pytest.raises(DataError, match="another process"),
        claim(tmp_path / "a.txt"),
    ):
        pass


def test_a_name_that_another_writer_took_over_is_left_alone(tmp_path):
    with claim(tmp_path / "a.txt") as partial:
        os.replace(partial, tmp_path / "a.txt")
        partial.write_text("of another process")
    assert partial.exists()


def test_partial_files_are_removed_when_the_process_must_end(tmp_path):
    with claim(tmp_path / "a.txt") as partial:
        abandon()
        assert not partial.exists()
