"""Guards logs at rest: a file that is something else, or cannot be true, is refused in one line."""

from dataclasses import replace

import h5py
import numpy as np
import pytest

from cltr.errors import DataError
from cltr.files.storage import create_h5
from cltr.logs.log_file import LogFile, open_log, write_log
from cltr.logs.stored_sessions import read_sessions
from cltr.testing import tiny_dataset
from cltr.types import ClickLog, ClickStatistics, Dataset
from tests.logs.stored import DATA, SCORES, change, counts, one_line

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
    assert (
        f"has production's scores of {len(SCORES) - 1} documents; 'tiny' has {len(SCORES)}"
        in one_line(caught)
    )


def log_on(splits: dict[str, int], n_scores: int) -> LogFile:
    """A log whose parts have so many documents, one query each, with so many scores."""
    statistics = {
        split: ClickStatistics(
            np.zeros((n, 2), np.int64), np.zeros((n, 2), np.int64), np.array([0]), np.array([0, n])
        )
        for split, n in splits.items()
    }
    return LogFile(statistics, np.zeros(n_scores))


@pytest.mark.parametrize(
    ("splits", "good", "bad", "expected"),
    [
        ({"train": 3, "valid": 2, "test": 4}, (9,), (8, 10, 3), 9),
        ({"train": 3, "valid": 3, "test": 3}, (3, 9), (2, 4, 8, 10), 3),  # perhaps shared lists
        ({"train": 3, "valid": 2}, (5, 9), (4, 3), 5),  # the data set may have test queries
    ],
)
def test_scores_are_counted_without_the_data_set(path, splits, good, bad, expected):
    for n in good:
        write_log(path, log_on(splits, n))
        assert len(open_log(path).scores) == n
    for n in bad:
        write_log(path, log_on(splits, n))
        with pytest.raises(DataError) as caught:
            open_log(path)
        line = f"scores of {n} documents; the log has {expected} documents; the file is damaged"
        assert line in one_line(caught)


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
