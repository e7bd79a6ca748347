"""Two writers of one file, and what a killed one leaves behind."""

import multiprocessing
import os
import signal
import time

import pytest

from cltr.errors import DataError
from cltr.files import claims
from cltr.files.claims import PARTIAL, abandon, claim, hidden_folder, remove_leftovers, reserve
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


@pytest.fixture
def fresh(monkeypatch):
    """As in a process that has not looked for leftovers."""
    monkeypatch.setattr(claims, "_swept", set())


def test_what_a_killed_writer_left_is_removed_by_the_next_one_in_the_folder(
    holder, tmp_path, fresh
):
    other = tmp_path / "b.txt"
    os.kill(holder.pid, signal.SIGKILL)
    holder.join()
    with write_beside(other) as partial:
        partial.write_text("b")
    assert [path.name for path in tmp_path.iterdir()] == ["b.txt"]


def test_what_a_living_process_writes_is_never_removed(holder, tmp_path, fresh):
    remove_leftovers(tmp_path)
    assert (tmp_path / f".a.txt{PARTIAL}").read_text() == "half"


def test_files_of_others_are_never_removed(tmp_path, fresh):
    names = [".x.partial", "x.cltr-partial", ".cltr", "x"]
    for name in names:
        (tmp_path / name).touch()
    remove_leftovers(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*names}


def leave_a_folder(place):
    with hidden_folder(place) as folder:
        (folder / "spill").write_text("much")
        os._exit(0)


def test_hidden_folders_go_with_the_work_or_are_removed_later(tmp_path, fresh):
    with hidden_folder(tmp_path) as folder:
        (folder / "spill").write_text("much")
        claims._swept.clear()
        remove_leftovers(tmp_path)
        assert folder.exists()
    assert not folder.exists()
    process = SPAWN.Process(target=leave_a_folder, args=(tmp_path,))
    process.start()
    process.join()
    (left,) = tmp_path.iterdir()
    os.utime(left, (0, 0))
    claims._swept.clear()
    remove_leftovers(tmp_path)
    assert not left.exists()


def test_a_reserved_file_is_refused_to_others_and_written_as_usual(tmp_path):
    target = tmp_path / "a.txt"

    def write():
        with pytest.raises(DataError, match="another process"), write_beside(target):
            pass

    with reserve(target):
        other = SPAWN.Process(target=write)
        other.start()
        other.join()
        assert other.exitcode == 0
        for text in ("first", "second"):
            with write_beside(target) as partial:
                partial.write_text(text)
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "second"


def test_a_reservation_that_comes_to_nothing_leaves_nothing(tmp_path):
    with pytest.raises(ZeroDivisionError), reserve(tmp_path / "a.txt"):
        raise ZeroDivisionError
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_written_cannot_be_reserved(tmp_path):
    with pytest.raises(DataError, match="there is no folder"), reserve(tmp_path / "b" / "a.txt"):
        pass
    with pytest.raises(DataError, match="is a folder"), reserve(tmp_path):
        pass


@pytest.mark.parametrize("where", ["fcntl.flock", "os.ftruncate"])
def test_a_signal_while_a_file_is_claimed_leaves_nothing(where, tmp_path, monkeypatch):
    """Between its creation and the moment from which it is known as ours."""

    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"cltr.files.claims.{where}", interrupted)
        with pytest.raises(KeyboardInterrupt), claim(tmp_path / "a.h5"):
            pass
    assert len(list(tmp_path.iterdir())) == 1
    abandon()
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("where", ["os.open", "fcntl.flock", "Path.rename"])
def test_a_signal_while_a_folder_is_made_leaves_nothing(where, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(f"cltr.files.claims.{where}", interrupted)
        with pytest.raises(KeyboardInterrupt), hidden_folder(tmp_path):
            pass
    assert len(list(tmp_path.iterdir())) == 1
    abandon()
    assert not list(tmp_path.iterdir())
