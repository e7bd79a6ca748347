"""Guards logs at rest: what is written comes back, also after a kill at any moment."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from cltr.clicks.models import TrustBias
from cltr.errors import DataError
from cltr.files import storage
from cltr.logs.log_file import LogFile, open_log, read_statistics, write_log, write_sessions
from cltr.logs.log_lists import lists_of_log
from cltr.logs.stored_sessions import read_sessions
from cltr.types import ClickLog, ClickStatistics
from tests import children
from tests.counting import count_log
from tests.logs.stored import (
    DATA,
    OFFSETS,
    SCORES,
    N,
    Talking,
    assert_same,
    change,
    counts,
    frame,
    one_line,
    sessions,
)


def test_counts_come_back_as_they_were(written):
    log = open_log(written, DATA)
    for split, expected in counts().statistics.items():
        assert_same(log.statistics[split], expected)
    np.testing.assert_array_equal(log.scores, SCORES)
    assert log.description == {"users": "trust-bias", "seed": 7}
    assert log.fingerprint == DATA.fingerprint


def test_a_log_without_scores_says_so(path):
    write_log(path, replace(counts(), scores=None))
    assert open_log(path, DATA).scores is None


def test_interactions_come_back_with_their_context(with_sessions):
    found = list(read_sessions(with_sessions, chunk=1000))
    assert len(found) == 1
    expected = sessions(Talking(), "train", N["train"])
    for name in ("queries", "documents", "clicks"):
        together = np.concatenate([getattr(chunk, name) for chunk in expected])
        np.testing.assert_array_equal(getattr(found[0], name), together)
    devices = np.concatenate([chunk.context["device"] for chunk in expected])
    assert found[0].context["device"].tolist() == devices.tolist()
    hours = np.concatenate([chunk.context["hour"] for chunk in expected])
    assert found[0].context["hour"].tolist() == hours.astype(str).tolist()


def test_interactions_and_their_counts_agree(with_sessions):
    log = open_log(with_sessions, DATA)
    for split, n in N.items():
        expected = count_log(sessions(Talking(), split, n), OFFSETS[split])
        assert_same(log.statistics[split], expected)
        chunks = list(read_sessions(with_sessions, split, chunk=7))
        assert max(map(len, chunks)) == 7
        assert_same(count_log(chunks, OFFSETS[split]), expected)


def test_progress_counts_interactions(path):
    seen = []
    drawn = {split: (n, sessions(TrustBias(), split, n)) for split, n in N.items()}
    counted = write_sessions(path, frame(), drawn, OFFSETS, progress=seen.append)
    assert sum(seen) == sum(N.values())
    assert counted["train"].n_interactions == N["train"]


def test_fewer_interactions_than_announced_leave_no_file(path):
    chunks = sessions(TrustBias(), "train", 9)
    with pytest.raises(DataError) as caught:
        write_sessions(path, frame(), {"train": (40, chunks)}, OFFSETS)
    assert one_line(caught) == f"{path}: train has 9 interactions; expected 40"
    assert list(path.parent.iterdir()) == []


def test_a_context_that_is_too_long_is_refused(path):
    chunk = sessions(TrustBias(), "train", 3)[0]
    chunk = replace(chunk, context={"user": np.array(["é" * 33, "b", "c"])})
    with pytest.raises(DataError, match="longer than 64 bytes"):
        write_sessions(path, frame(), {"train": (3, [chunk])}, OFFSETS)
    assert list(path.parent.iterdir()) == []


def write(way: str, path: Path) -> None:
    if way == "counts":
        write_log(path, counts())
    else:
        drawn = {split: (n, sessions(TrustBias(), split, n)) for split, n in N.items()}
        write_sessions(path, frame(), drawn, OFFSETS)


def opens(path: Path) -> bool:
    try:
        open_log(path)
    except DataError:
        return False
    return True


@pytest.mark.parametrize("way", ["counts", "sessions"])
def test_a_kill_at_any_write_leaves_no_file_that_opens(path, way, monkeypatch):
    """Every write to the disk is the last one once, and so is the moment before the renaming."""
    steps: list[int] = []
    real = storage._Sink.write
    monkeypatch.setattr(
        storage._Sink, "write", lambda sink, data: steps.append(0) or real(sink, data)
    )
    write(way, path)
    total = len(steps)
    path.unlink()

    def killing(sink, data):
        if not steps:
            os.kill(os.getpid(), signal.SIGKILL)
        steps.pop()
        return real(sink, data)

    monkeypatch.setattr(storage._Sink, "write", killing)
    for last in range(total):
        steps[:] = [0] * last
        assert children.run(lambda: write(way, path)) is None
        assert not path.exists()
    assert total > 5
    assert not any(opens(partial) for partial in path.parent.iterdir())


def test_a_log_of_counts_has_no_interactions_to_read(written):
    with pytest.raises(DataError, match=r"holds counts only.*--sessions"):
        next(read_sessions(written))


# The test part, which a log may have.


TESTED = {"train": 40, "valid": 15, "test": 20}


def with_test(path: Path, way: str) -> dict[str, ClickStatistics]:
    """Write a log with a test part; what it should hold."""
    drawn = {split: sessions(Talking(), split, n) for split, n in TESTED.items()}
    offsets = {split: DATA.part(split).offsets for split in TESTED}
    expected = {split: count_log(chunks, offsets[split]) for split, chunks in drawn.items()}
    if way == "counts":
        write_log(path, replace(frame(), statistics=expected))
    else:
        chunks = {split: (n, drawn[split]) for split, n in TESTED.items()}
        write_sessions(path, frame(), chunks, offsets)
    return expected


@pytest.mark.parametrize("way", ["counts", "sessions"])
def test_a_test_part_comes_back_as_it_was(path, way):
    expected = with_test(path, way)
    log = open_log(path, DATA)
    assert list(log.statistics) == list(TESTED)
    for split, part in expected.items():
        assert_same(log.statistics[split], part)
        assert_same(read_statistics(path, dataset=DATA, split=split), part)
    if way == "sessions":
        offsets = DATA.part("test").offsets
        assert_same(count_log(read_sessions(path, "test", chunk=7), offsets), expected["test"])


def test_a_log_without_a_test_part_has_none(written):
    """As all logs of version 0.1.0."""
    with h5py.File(written) as file:
        assert "test" not in file
    assert list(open_log(written, DATA).statistics) == ["train", "valid"]
    line = "the log has no test part; it has train and valid"
    with pytest.raises(DataError, match=line):
        read_statistics(written, split="test")
    with pytest.raises(DataError, match=line):
        next(read_sessions(written, "test"))


@pytest.mark.parametrize("name", ["impressions", "clicks", "displays", "offsets"])
def test_a_test_part_is_whole_or_not_there(path, name):
    with_test(path, "sessions")
    with h5py.File(path, "r+") as file:
        del file[f"test/{name}"]
    for use in (open_log, lambda path: next(read_sessions(path, "test"))):
        with pytest.raises(DataError) as caught:
            use(path)
        assert f"'test/{name}' is missing; a test part has" in one_line(caught)


def test_a_test_part_of_other_ranks_or_lists_is_refused(path):
    expected = with_test(path, "counts")
    test = expected["test"]
    narrow = replace(test, impressions=test.impressions[:, :4], clicks=test.clicks[:, :4])
    write_log(path, replace(frame(), statistics={**expected, "test": narrow}))
    with pytest.raises(DataError, match="has length 4; expected 5 to agree"):
        open_log(path)
    write_log(path, replace(frame(), statistics={**expected, "test": expected["train"]}))
    with pytest.raises(DataError, match="its test lists are not those of 'tiny'"):
        open_log(path, DATA)


def test_counts_of_a_test_part_are_checked(path):
    with_test(path, "counts")
    change(path, "test/clicks", lambda values: values.__iadd__(100))
    with pytest.raises(DataError, match="'test' has more clicks than impressions"):
        open_log(path)


@pytest.mark.parametrize("tested", [False, True])
def test_a_log_that_stands_alone_tests_on_its_own_lists(path, tested):
    lists = lists_of_log(np.array([0, 2, 3]), np.array(["p", "q"]), np.array(["a", "b", "a"]))
    chunk = ClickLog(np.array([0, 1]), np.array([[1, 0], [2, -1]]), np.zeros((2, 2), bool))
    part = ClickStatistics.count(chunk, lists.offsets)
    names = ("train", "valid", "test") if tested else ("train", "valid")
    write_log(path, LogFile(dict.fromkeys(names, part), None, lists=lists))
    found = open_log(path)
    assert found.lists.splits["test"] == ((0, 2) if tested else (2, 2))
    assert found.lists.splits["train"] == found.lists.splits["valid"] == (0, 2)
    assert found.lists.fingerprint == lists.fingerprint
