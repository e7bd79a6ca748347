"""Guards the import of judged data: every number and id arrives, in the right split, scaled."""

import tracemalloc
from dataclasses import replace
from unittest import mock

import numpy as np
import pytest

from cltr.data import disk_spool, text_lines
from cltr.data.demo import demo_dataset
from cltr.data.importing import (
    dataset_info,
    describe_dataset,
    import_dataset,
    open_dataset,
    save_dataset,
)
from cltr.data.normalization import NORMALIZATIONS
from tests.judged import REAL, needs_real, text, write_folder


@pytest.fixture
def folder(tmp_path):
    return write_folder(tmp_path / "data")


def test_import_keeps_every_number_and_id(folder, tmp_path):
    import_dataset([folder], tmp_path / "data.h5")
    data = open_dataset(tmp_path / "data.h5")
    assert data.splits == {"train": (0, 20), "valid": (20, 25), "test": (25, 35)}
    assert (data.n_queries, data.n_documents, data.n_features) == (35, 105, 4)
    assert data.query_ids.tolist() == [str(query) for query in range(35)]
    assert data.document_ids[-1] == "34-2"
    whole = "".join((folder / f"{name}.txt").read_text() for name in ("train", "vali", "test"))
    read = [line.split() for line in whole.splitlines()]
    assert data.labels.tolist() == [float(words[0]) for words in read]
    values = [[float(word.split(":")[1]) for word in words[2:6]] for words in read]
    assert np.array_equal(data.features, np.array(values, np.float32))
    assert (data.name, data.highest_grade) == ("data", 2.0)


def test_small_blocks_change_nothing(folder, tmp_path):
    import_dataset([folder], tmp_path / "a.h5", normalize="z-score")
    with mock.patch.object(text_lines, "BLOCK", 50), mock.patch.object(disk_spool, "BLOCK", 100):
        import_dataset([folder], tmp_path / "b.h5", normalize="z-score")
    a, b = open_dataset(tmp_path / "a.h5"), open_dataset(tmp_path / "b.h5")
    assert np.allclose(a.features, b.features, atol=1e-6)
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.document_ids, b.document_ids)


def test_memory_does_not_grow_with_the_file(tmp_path):
    import_dataset([write_folder(tmp_path / "warm")], tmp_path / "data.h5")
    peaks = []
    for n_queries in (100, 1600):
        (tmp_path / "all.txt").write_text(text(range(n_queries), documents=10, features=20))
        tracemalloc.start()
        with (
            mock.patch.object(text_lines, "BLOCK", 10_000),
            mock.patch.object(disk_spool, "BLOCK", 10_000),
        ):
            import_dataset([tmp_path / "all.txt"], tmp_path / "data.h5", normalize="z-score")
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] - peaks[0] < 15_000 * 20 * 4 / 2  # half of the features alone


def test_fingerprint_follows_the_content(folder, tmp_path):
    first = import_dataset([folder], tmp_path / "a.h5")["fingerprint"]
    assert import_dataset([folder], tmp_path / "b.h5")["fingerprint"] == first
    (folder / "test.txt").write_text((folder / "test.txt").read_text().replace("25-0", "25-x"))
    assert import_dataset([folder], tmp_path / "c.h5")["fingerprint"] != first


def test_saved_dataset_comes_back(tmp_path):
    data = demo_dataset()
    save_dataset(data, tmp_path / "demo.h5")
    again = open_dataset(tmp_path / "demo.h5")
    for name in ("features", "labels", "offsets", "query_ids", "document_ids"):
        assert np.array_equal(getattr(data, name), getattr(again, name))
    assert (again.splits, again.name, again.highest_grade) == (data.splits, "demo", 4.0)


def test_open_arrays_are_mapped_not_read(folder, tmp_path):
    import_dataset([folder], tmp_path / "data.h5")
    data = open_dataset(tmp_path / "data.h5")
    base = data.features
    while isinstance(base.base, np.ndarray):
        base = base.base
    assert isinstance(base, np.memmap)


def test_info_counts_by_split(folder, tmp_path):
    (folder / "test.txt").write_text("0 qid:8x 1:1\n0 qid:8x 1:2\n2 qid:9x 2:1\n")
    info = import_dataset([folder], tmp_path / "data.h5")
    assert info == dataset_info(tmp_path / "data.h5")
    assert info["splits"]["test"] == {
        "queries": 2,
        "documents": 3,
        "list_length": {"min": 1, "median": 1.5, "max": 2},
        "grades": {"0": 2, "2": 1},
        "judged_queries": 2,
        "queries_without_relevant": 1,
    }
    assert info["files"] == {"train": ["train.txt"], "valid": ["vali.txt"], "test": ["test.txt"]}


def test_description_of_an_empty_split():
    data = demo_dataset()
    assert describe_dataset(data)["queries"] == data.n_queries
    empty = {**data.splits, "test": (700, 700)}
    split = describe_dataset(replace(data, splits=empty))["splits"]["test"]
    assert split["list_length"] == {"min": 0, "median": 0, "max": 0}


def test_minus_zero_is_the_grade_zero():
    data = demo_dataset()
    labels = np.where(data.labels == 0, -0.0, data.labels)
    grades = describe_dataset(replace(data, labels=labels))["splits"]["test"]["grades"]
    assert list(grades) == ["0", "1", "2", "3", "4"]


def test_progress_runs_to_the_end(folder, tmp_path):
    seen = []
    import_dataset([folder], tmp_path / "data.h5", progress=lambda *step: seen.append(step))
    assert [stage for stage, _, _ in seen] == ["reading"] * 3 + ["writing"]
    assert all(done == total for _, done, total in seen[2:])


@pytest.mark.parametrize(
    ("comments", "note"),
    [
        (["", "", ""], "the files hold no document ids"),
        (["# a", "", "# b"], "1 of 9 documents have no id"),
        (["# a", "# b", "# a"], "document id 'a' stands twice in query '1'"),
        (["# a", "# b", "# " + "x" * 300], "a document id has 300 bytes, more than 256"),
    ],
)
def test_places_stand_in_for_ids(tmp_path, comments, note):
    good = "".join(f"0 qid:{query} 1:1 # {place}\n" for query in (2, 3) for place in "xyz")
    bad = "".join(f"1 qid:1 1:1 {comment}\n" for comment in comments)
    if not any(comments):
        good = good.replace("#", " ").replace(" x", "").replace(" y", "").replace(" z", "")
    (tmp_path / "all.txt").write_text(bad + good)
    info = import_dataset([tmp_path / "all.txt"], tmp_path / "data.h5")
    assert f"{note}: a document's id is its place in the list, from 0" in info["notes"]
    assert open_dataset(tmp_path / "data.h5").document_ids[:3].tolist() == ["0", "1", "2"]


def test_ids_may_be_any_text(tmp_path):
    words = ["é", "日本", "a-very-long-identifier", "7"]
    lines_ = [f"1 qid:{word} 1:1 # {word}\n0 qid:{word} 1:2 # {word}2\n" for word in words]
    (tmp_path / "train.txt").write_text("".join(lines_), encoding="utf-8")
    import_dataset([tmp_path / "train.txt"], tmp_path / "data.h5")
    data = open_dataset(tmp_path / "data.h5")
    assert sorted(data.query_ids) == sorted(words)
    assert sorted(data.document_ids) == sorted([*words, *(f"{word}2" for word in words)])


@pytest.mark.parametrize("name", NORMALIZATIONS)
def test_import_normalises_as_the_stored_object_does(folder, tmp_path, name):
    import_dataset([folder], tmp_path / "raw.h5")
    import_dataset([folder], tmp_path / "data.h5", normalize=name)
    raw, data = open_dataset(tmp_path / "raw.h5"), open_dataset(tmp_path / "data.h5")
    assert data.normalization.name == name
    assert np.array_equal(data.normalization.apply(raw.features, raw.offsets), data.features)
    assert data.part("test").normalization is data.normalization


def test_normalisation_sees_training_queries_only(folder, tmp_path):
    import_dataset([folder], tmp_path / "a.h5", normalize="z-score")
    (folder / "vali.txt").write_text(text(range(20, 25), seed=9).replace(":1.", ":999."))
    import_dataset([folder], tmp_path / "b.h5", normalize="z-score")
    a, b = open_dataset(tmp_path / "a.h5"), open_dataset(tmp_path / "b.h5")
    assert np.array_equal(a.normalization.center, b.normalization.center)
    train = a.part("train").features
    assert np.allclose(train.mean(0), 0, atol=1e-6)
    assert np.allclose(train.std(0), 1, atol=1e-5)


def test_normalisation_leaves_out_what_was_split_off(tmp_path):
    (tmp_path / "all.txt").write_text(text(range(40)))
    import_dataset([tmp_path / "all.txt"], tmp_path / "d.h5", normalize="z-score")
    train = open_dataset(tmp_path / "d.h5").part("train").features
    assert np.allclose(train.mean(0), 0, atol=1e-6)


@needs_real
def test_mslr_sample(tmp_path):
    info = import_dataset([REAL / "mslr-sample"], tmp_path / "d.h5", normalize="log1p-z-score")
    assert (info["queries"], info["documents"], info["features"]) == (84, 9929, 136)
    assert [split["queries"] for split in info["splits"].values()] == [50, 17, 17]
    assert info["highest_grade"] == 4
    assert np.abs(open_dataset(tmp_path / "d.h5").features).max() < 100


@needs_real
def test_mq2008(tmp_path):
    parts = {n: REAL / "mq2008" / f"S{n}.txt" for n in (1, 2, 3, 4)}
    info = import_dataset(
        [], tmp_path / "d.h5", train=[parts[1], parts[2]], valid=[parts[3]], test=[parts[4]]
    )
    assert (info["queries"], info["features"], info["highest_grade"]) == (628, 46, 2)
    lengths = [split["list_length"] for split in info["splits"].values()]
    assert (min(x["min"] for x in lengths), max(x["max"] for x in lengths)) == (5, 121)
    without = sum(split["queries_without_relevant"] for split in info["splits"].values())
    words = [line.split()[:2] for path in parts.values() for line in path.read_text().splitlines()]
    relevant = {query for grade, query in words if grade != "0"}
    assert without == 628 - len(relevant)
    assert info["documents"] == len(words)
    assert open_dataset(tmp_path / "d.h5").document_ids[0].startswith("GX")


@needs_real
def test_lightgbm_lambdarank(tmp_path):
    info = import_dataset([REAL / "lightgbm-lambdarank"], tmp_path / "d.h5")
    assert (info["queries"], info["documents"], info["features"]) == (251, 3773, 300)
    assert info["highest_grade"] == 4
    assert "no valid files: 40 of 201 training queries (20%) were split off" in info["notes"]
