"""Guards logs at rest: what is written comes back, and a file that is something else is refused."""

import os
import signal
from dataclasses import replace
from pathlib import Path

import h5py
import numpy as np
import pytest

from cltr.clicks.models import TrustBias
from cltr.clicks.simulation import simulate_sessions, simulate_statistics
from cltr.errors import DataError
from cltr.files import storage
from cltr.files.storage import create_h5
from cltr.interfaces import ClickModel
from cltr.logs.log_file import (
    LogFile,
    open_log,
    read_sessions,
    read_statistics,
    write_log,
    write_sessions,
)
from cltr.logs.log_lists import lists_of_log
from cltr.testing import tiny_dataset
from cltr.types import ClickLog, ClickStatistics, Dataset
from tests import children
from tests.counting import count_log

DATA = tiny_dataset()
SCORES = DATA.features[:, 1].astype(np.float64)
N = {"train": 40, "valid": 15}
OFFSETS = {split: DATA.part(split).offsets for split in N}


class Talking(ClickModel):
    """Users with a context, in words of more than one alphabet."""

    name = "talking"

    def probabilities(self, relevance, context):
        return np.nan_to_num(relevance)

    def draw_context(self, n, rng):
        return {
            "device": np.where(rng.random(n) < 0.5, "téléphone", "desktop"),
            "hour": np.arange(n),
        }


def frame() -> LogFile:
    description = {"users": "trust-bias", "seed": 7}
    return LogFile({}, SCORES, description, DATA.fingerprint)


def counts() -> LogFile:
    statistics = {
        split: simulate_statistics(
            DATA.part(split),
            SCORES[DATA.documents_of(split)],
            TrustBias(),
            n=n,
            top_k=5,
            rng=np.random.default_rng(0),
        )
        for split, n in N.items()
    }
    return replace(frame(), statistics=statistics)


def sessions(users: ClickModel, split: str, n: int) -> list[ClickLog]:
    return list(
        simulate_sessions(
            DATA.part(split),
            SCORES[DATA.documents_of(split)],
            users,
            n=n,
            top_k=5,
            rng=np.random.default_rng(0),
            chunk=9,
        )
    )


def assert_same(found: ClickStatistics, expected: ClickStatistics) -> None:
    for name in ("impressions", "clicks", "displays", "offsets"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
        assert getattr(found, name).dtype == np.int64


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "log.h5"


@pytest.fixture
def written(path) -> Path:
    write_log(path, counts())
    return path


@pytest.fixture
def with_sessions(path) -> Path:
    drawn = {split: (n, sessions(Talking(), split, n)) for split, n in N.items()}
    write_sessions(path, frame(), drawn, OFFSETS)
    return path


def change(path: Path, name: str, edit) -> None:
    """Change one array of a file in place."""
    with h5py.File(path, "r+") as file:
        values = file[name][...]
        edit(values)
        file[name][...] = values


def one_line(raised) -> str:
    text = str(raised.value)
    assert "\n" not in text
    return text


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


# Files that are something else, or not all there.


def test_no_file(path):
    with pytest.raises(DataError) as caught:
        open_log(path)
    assert one_line(caught) == f"{path}: no such file"


@pytest.mark.parametrize("share", [0.0, 0.3, 0.6, 0.9, 0.999])
def test_a_file_that_is_cut_off(written, share):
    content = written.read_bytes()
    written.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError) as caught:
        open_log(written)
    assert one_line(caught).startswith(f"{written}: ")


def test_a_file_of_another_kind(path):
    path.write_text("not HDF5 at all\n" * 50)
    with pytest.raises(DataError) as caught:
        open_log(path)
    assert one_line(caught) == f"{path}: is not an HDF5 file"


def test_a_log_as_it_came_is_told_what_to_do_with(tmp_path):
    raw = tmp_path / "clicks.tsv.gz"
    raw.write_bytes(b"session")
    with pytest.raises(DataError) as raised:
        open_log(raw)
    assert one_line(raised).endswith(f"import it first: cltr ingest {raw} --out log.h5")


def test_an_hdf5_file_of_another_format(path):
    with create_h5(path, format="cltr-dataset") as file:
        file["features"] = np.zeros(3)
    with pytest.raises(DataError) as caught:
        open_log(path)
    assert (
        one_line(caught)
        == f"{path}: is a data set, not a log; give a file that 'cltr ingest' wrote"
    )


@pytest.mark.parametrize(
    ("edit", "line"),
    [
        (lambda file: file.__delitem__("train/clicks"), "'train/clicks' is missing"),
        (lambda file: file.__delitem__("valid"), "'valid/impressions' is missing"),
        (
            lambda file: file.__setitem__("notes", np.zeros(3)),
            "'notes' does not belong there",
        ),
        (
            lambda file: file.attrs.__setitem__("description", "{"),
            "attribute 'description': cannot be read as JSON",
        ),
        (lambda file: file.attrs.__delitem__("complete"), "was not written to its end"),
        (lambda file: file.attrs.__setitem__("version", 99), "has version 99"),
    ],
)
def test_a_file_with_too_little_or_too_much(written, edit, line):
    with h5py.File(written, "r+") as file:
        edit(file)
    with pytest.raises(DataError) as caught:
        open_log(written)
    assert one_line(caught).startswith(f"{written}: {line}")


def test_ranks_that_disagree(path):
    log = counts()
    train = log.statistics["train"]
    narrow = replace(train, clicks=train.clicks[:, :4])
    write_log(path, replace(log, statistics={**log.statistics, "train": narrow}))
    with pytest.raises(DataError, match="'train/clicks' has length 4; expected 5 to agree"):
        open_log(path)


def negative_clicks(values):
    values[0, 0] = -1


def twice_as_many(values):
    values *= 2


def no_beginning(values):
    values[0] = 1


def everything_at_the_first_rank(values):
    values[:, 0] = values.max()


@pytest.mark.parametrize(
    ("name", "edit", "line"),
    [
        ("train/clicks", negative_clicks, "more clicks than impressions, or fewer than none"),
        ("train/clicks", lambda v: v.__iadd__(10**6), "more clicks than impressions"),
        ("train/impressions", twice_as_many, "shows documents more often than their query came"),
        (
            "valid/impressions",
            everything_at_the_first_rank,
            "shows documents more often than their query came",
        ),
        ("train/offsets", no_beginning, "'train/offsets' do not cover the documents"),
        ("valid/offsets", lambda v: v.sort() or v.__isub__(1), "'valid/offsets' do not cover"),
        ("scores", lambda v: v.fill(np.nan), "'scores' has NaN or infinite values"),
    ],
)
def test_counts_that_cannot_be(written, name, edit, line):
    change(written, name, edit)
    with pytest.raises(DataError) as caught:
        open_log(written)
    assert line in one_line(caught)


def test_a_document_at_two_ranks_of_one_display(path):
    """No rank is shown too often, only the document."""
    twice = np.array([[1, 1], [0, 0]])
    part = ClickStatistics(twice, 0 * twice, np.array([1]), np.array([0, 2]))
    write_log(path, LogFile({"train": part, "valid": part}, None))
    with pytest.raises(DataError, match="shows documents more often than their query came"):
        open_log(path)


@pytest.mark.parametrize(
    ("name", "edit"),
    [
        ("queries", lambda v: v.fill(10**6)),
        ("queries", lambda v: v.fill(-1)),
        ("documents", lambda v: v.fill(10**6)),
        ("documents", lambda v: v.__iadd__(1)),
        ("documents", lambda v: v.fill(-7)),
        ("clicks", lambda v: v.fill(True)),
    ],
)
def test_interactions_that_cannot_be(with_sessions, name, edit):
    change(with_sessions, f"train/sessions/{name}", edit)
    with pytest.raises(DataError, match="an interaction shows or clicks what is not in its query"):
        list(read_sessions(with_sessions))


def test_interactions_of_which_a_part_is_missing(with_sessions):
    with h5py.File(with_sessions, "r+") as file:
        del file["train/sessions/clicks"]
    with pytest.raises(DataError, match="'train/sessions' has no clicks"):
        list(read_sessions(with_sessions))


# A log of other documents.


def test_a_log_of_another_data_set(written):
    other = replace(DATA, fingerprint="another", name="other")
    with pytest.raises(DataError) as caught:
        open_log(written, other)
    assert "the log was made with another data set than 'other'" in one_line(caught)


@pytest.mark.parametrize(
    ("made_with", "told"),
    [
        ("in/shop.h5", "the log was made with the data set in/shop.h5; say --data in/shop.h5"),
        ("in/other.h5", "the log was made with another version of in/other.h5"),
    ],
)
def test_a_log_names_its_data_set(path, made_with, told):
    log = counts()
    write_log(path, replace(log, description={**log.description, "data": made_with}))
    with pytest.raises(DataError) as caught:
        open_log(path, replace(DATA, fingerprint="another", name="other"))
    assert told in one_line(caught)


def test_a_log_of_other_lists(path):
    write_log(path, replace(counts(), fingerprint=""))
    with pytest.raises(DataError, match="its train lists are not those of 'tiny'"):
        open_log(path, tiny_dataset(12))


def test_scores_of_too_few_documents(path):
    write_log(path, replace(counts(), scores=SCORES[:-1]))
    with pytest.raises(DataError) as caught:
        open_log(path, DATA)
    assert one_line(caught).endswith(
        f"has scores of {len(SCORES) - 1} documents; 'tiny' has {len(SCORES)}"
    )


def test_empty_lists_are_counted(path):
    """A query without documents has displays and shows nothing."""
    offsets = np.array([0, 0, 2])
    chunk = ClickLog(np.array([0, 1]), np.array([[-1, -1], [1, 0]]), np.zeros((2, 2), bool))
    part = ClickStatistics.count(chunk, offsets)
    write_log(path, LogFile({"train": part, "valid": part}, None))
    empty = Dataset(
        np.zeros((4, 1), np.float32), np.zeros(4), np.array([0, 0, 2, 2, 4]), None, None
    )
    found = open_log(
        path,
        replace(
            empty,
            splits={"train": (0, 2), "valid": (2, 4)},
            query_ids=np.arange(4),
            document_ids=np.arange(4),
        ),
    )
    assert found.statistics["train"].displays.tolist() == [1, 1]
