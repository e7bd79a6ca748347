"""Guards judged data: import to file and back, splits, normalisation, and what is refused."""

import errno
import gzip
import os
import resource
import signal
import time
from pathlib import Path
from unittest import mock

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cltr import lines, spool
from cltr.datasets import dataset_info, describe, import_dataset, open_dataset, save_dataset
from cltr.demo import demo_dataset
from cltr.errors import CltrError, DataError, UsageError
from cltr.normalization import NORMALIZATIONS, Normalization, fit_normalization
from cltr.storage import PARTIAL

JUDGED = Path(__file__).parents[2] / "shared" / "data"
needs_judged = pytest.mark.skipif(not JUDGED.is_dir(), reason="the judged sets are not there")


def text(queries, *, documents=3, features=4, grade=2, seed=0):
    """SVMlight lines of some queries, each feature with two decimals."""
    rng = np.random.default_rng(seed)
    return "".join(
        f"{rng.integers(grade + 1)} qid:{query} "
        + " ".join(f"{f}:{rng.integers(100) / 100 + f}" for f in range(1, features + 1))
        + f" # docid = {query}-{place}\n"
        for query in queries
        for place in range(documents)
    )


@pytest.fixture
def folder(tmp_path):
    path = tmp_path / "data"
    path.mkdir()
    (path / "train.txt").write_text(text(range(20)))
    (path / "vali.txt").write_text(text(range(20, 25), seed=1))
    (path / "test.txt").write_text(text(range(25, 35), seed=2))
    return path


def in_child(task):
    """Run ``task`` in a process of its own; what it says, or None if it was killed."""
    receive, send = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            answer = str(task())
        except BaseException as error:
            answer = f"{type(error).__name__}: {error}"
        os.write(send, answer.encode())
        os._exit(0)
    os.close(send)
    return child, receive


def answer_of(child, receive):
    with open(receive, "rb") as stream:
        answer = stream.read().decode()
    _, status = os.waitpid(child, 0)
    return None if os.WIFSIGNALED(status) else answer


# The way there and back.


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
    with mock.patch.object(lines, "BLOCK", 50), mock.patch.object(spool, "BLOCK", 100):
        import_dataset([folder], tmp_path / "b.h5", normalize="z-score")
    a, b = open_dataset(tmp_path / "a.h5"), open_dataset(tmp_path / "b.h5")
    assert np.allclose(a.features, b.features, atol=1e-6)
    assert np.array_equal(a.labels, b.labels)
    assert np.array_equal(a.document_ids, b.document_ids)


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
        "queries_without_relevant": 1,
    }
    assert info["files"] == {"train": ["train.txt"], "valid": ["vali.txt"], "test": ["test.txt"]}


def test_description_of_an_empty_split():
    data = demo_dataset()
    assert describe(data)["queries"] == data.n_queries
    empty = {**data.splits, "test": (700, 700)}
    split = describe(type(data)(**{**vars(data), "splits": empty}))["splits"]["test"]
    assert split["list_length"] == {"min": 0, "median": 0, "max": 0}


def test_progress_runs_to_the_end(folder, tmp_path):
    seen = []
    import_dataset([folder], tmp_path / "data.h5", progress=lambda *step: seen.append(step))
    assert [stage for stage, _, _ in seen] == ["reading"] * 3 + ["writing"]
    assert all(done == total for _, done, total in seen[2:])


# Ids.


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


# Splits and layouts.


def test_missing_splits_come_from_training_by_hash_of_id(tmp_path):
    order = np.random.default_rng(0).permutation(50)
    for name, queries in (("a", range(50)), ("b", order)):
        blocks = {query: text([query], seed=int(query)) for query in queries}
        (tmp_path / f"{name}.txt").write_text("".join(blocks.values()))
        info = import_dataset([tmp_path / f"{name}.txt"], tmp_path / f"{name}.h5", test_share=0.1)
    a, b = open_dataset(tmp_path / "a.h5"), open_dataset(tmp_path / "b.h5")
    assert a.splits == {"train": (0, 35), "valid": (35, 45), "test": (45, 50)}
    for split in a.splits:
        assert set(a.part(split).query_ids) == set(b.part(split).query_ids)
    assert info["notes"][:2] == [
        "no valid files: 10 of 50 training queries (20%) were split off",
        "no test files: 5 of 50 training queries (10%) were split off",
    ]
    query = int(a.query_ids[47])
    start = a.offsets[47]
    expected = text([query], seed=query).split()[2:6]
    assert a.features[start].tolist() == [np.float32(word.split(":")[1]) for word in expected]


def test_several_files_of_a_split_join_and_a_list_may_go_on_in_the_next(tmp_path):
    (tmp_path / "p1").write_text("0 qid:1 1:1\n0 qid:2 1:1\n")
    (tmp_path / "p2").write_text("0 qid:2 1:1\n0 qid:3 1:1\n")
    (tmp_path / "v").write_text("0 qid:4 1:1\n")
    import_dataset(
        [], tmp_path / "d.h5", train=[tmp_path / "p1", tmp_path / "p2"], valid=[tmp_path / "v"],
        test_share=0.3,
    )  # fmt: skip
    data = open_dataset(tmp_path / "d.h5")
    lengths = dict(zip(data.query_ids.tolist(), np.diff(data.offsets).tolist(), strict=True))
    assert lengths == {"1": 1, "2": 2, "3": 1, "4": 1}


def _fold(root, number, seed):
    path = root / f"Fold{number}"
    path.mkdir()
    for place, name in enumerate(("train", "vali", "test")):
        queries = range(100 * number + 10 * place, 100 * number + 10 * place + 3)
        (path / f"{name}.txt").write_text(text(queries, seed=seed))


def test_folds(tmp_path):
    for number in (1, 2):
        _fold(tmp_path, number, number)
    first = import_dataset([tmp_path], tmp_path / "1.h5")
    assert "fold 1 of 2 was taken" in first["notes"]
    second = import_dataset([tmp_path], tmp_path / "2.h5", fold=2)
    assert (
        second["fingerprint"]
        == import_dataset([tmp_path / "Fold2"], tmp_path / "3.h5")["fingerprint"]
    )
    assert open_dataset(tmp_path / "2.h5").query_ids[0] == "200"
    with pytest.raises(UsageError, match="no fold 3; there are 1, 2"):
        import_dataset([tmp_path], tmp_path / "4.h5", fold=3)


def test_parts_make_folds(tmp_path):
    for part in range(1, 6):
        (tmp_path / f"S{part}.txt").write_text(text([part]))
    import_dataset([tmp_path], tmp_path / "1.h5")
    import_dataset([tmp_path], tmp_path / "4.h5", fold=4)
    assert open_dataset(tmp_path / "1.h5").query_ids.tolist() == ["1", "2", "3", "4", "5"]
    assert open_dataset(tmp_path / "4.h5").query_ids.tolist() == ["4", "5", "1", "2", "3"]
    (tmp_path / "S5.txt").unlink()
    with pytest.raises(DataError, match="S5 of S1 to S5 is missing"):
        import_dataset([tmp_path], tmp_path / "2.h5")


@pytest.mark.parametrize(
    ("names", "files"),
    [
        (["set1.train.txt", "set1.valid.txt", "set1.test.txt", "README"], 3),
        (["train.txt.gz", "vali.txt", "test.txt"], 3),
        (["train.txt", "train.txt.gz", "dev.txt", "test.txt"], 3),
        (["train-00.txt", "train-01.txt", "validation.txt", "test.txt"], 4),
        (["rank.train", "rank.test", "rank.train.weight"], 2),
    ],
)
def test_files_are_sorted_by_name(tmp_path, names, files):
    for number, name in enumerate(names):
        data = text(range(10 * number, 10 * number + 10)).encode()
        (tmp_path / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    info = import_dataset([tmp_path], tmp_path / "out.h5")
    assert sum(map(len, info["files"].values())) == files
    assert info["queries"] == 10 * files


def test_several_sets_in_a_folder_need_a_word(tmp_path):
    for name in ("set1.train.txt", "set1.test.txt", "set2.train.txt", "set2.test.txt"):
        (tmp_path / name).write_text(text(range(3)))
    with pytest.raises(UsageError, match="there are several sets, set1, set2; name the files"):
        import_dataset([tmp_path], tmp_path / "out.h5")


# Presets.


def _sparse(queries, features, grade=4):
    """One document a query, quickly written."""
    tail = " ".join(f"{f}:0.5" for f in (1, features))
    return "".join(f"{query % (grade + 1)} qid:{query} {tail}\n" for query in queries)


def test_preset_knows_the_folder_and_checks(tmp_path):
    fold = tmp_path / "MSLR-WEB10K" / "Fold1"
    fold.mkdir(parents=True)
    (fold / "train.txt").write_text(_sparse(range(6000), 136))
    (fold / "vali.txt").write_text(_sparse(range(6000, 8000), 136))
    (fold / "test.txt").write_text(_sparse(range(8000, 10000), 136))
    info = import_dataset([tmp_path], tmp_path / "mslr.h5", preset="mslr10k")
    assert (info["name"], info["features"], info["highest_grade"]) == ("mslr10k", 136, 4.0)
    for preset, message in (
        ("mslr30k", "MSLR-WEB30K has 31531 queries, but 10000 were found; check the files"),
        ("istella-s", "Istella-S has 220 features, but 136 were found"),
    ):
        with pytest.raises(DataError, match=message):
            import_dataset([fold], tmp_path / "no.h5", preset=preset)
    (fold / "vali.txt").write_text(_sparse(range(6000, 8000), 136, grade=5))
    with pytest.raises(DataError, match="has grades 0 to 4, but 5 was found"):
        import_dataset([fold], tmp_path / "no.h5", preset="mslr10k")
    assert not (tmp_path / "no.h5").exists()


def test_yahoo_takes_the_first_set(tmp_path):
    sizes = {"set1.train": 19944, "set1.valid": 2994, "set1.test": 6983, "set2.train": 5}
    done = 0
    for name, size in sizes.items():
        (tmp_path / f"{name}.txt").write_text(_sparse(range(done, done + size), 699))
        done += size
    assert import_dataset([tmp_path], tmp_path / "yahoo.h5", preset="yahoo")["queries"] == 29921


def test_istella_reads_huge_values_as_missing(tmp_path):
    folder = tmp_path / "sample"
    folder.mkdir()
    for name, first, last in (("train", 0, 19245), ("vali", 19245, 26456), ("test", 26456, 33018)):
        (folder / f"{name}.txt").write_text(_sparse(range(first, last), 220))
    path = folder / "train.txt"
    path.write_text(path.read_text().replace("220:0.5", "219:1.7976931348623157e308 220:1", 1))
    info = import_dataset([tmp_path], tmp_path / "i.h5", preset="istella-s")
    assert "1 features were too large for 32 bits and count as missing" in info["notes"]
    assert open_dataset(tmp_path / "i.h5").features[0, 218:].tolist() == [0.0, 1.0]


def test_unknown_preset_and_normalisation(folder, tmp_path):
    with pytest.raises(UsageError, match=r"no preset named 'mslr1'; .*Did you mean 'mslr10k'"):
        import_dataset([folder], tmp_path / "data.h5", preset="mslr1")
    with pytest.raises(
        UsageError, match=r"no normalisation named 'zscore'.*Did you mean 'z-score'"
    ):
        import_dataset([folder], tmp_path / "data.h5", normalize="zscore")


# Normalisation.


def raw_blocks(draw_seed, blocks=3):
    rng = np.random.default_rng(draw_seed)
    return [
        (rng.standard_normal((int(n), 3)) * [1, 100, 0] + [0, 1e6, 5]).astype(np.float32)
        for n in rng.integers(1, 20, blocks)
    ]


def test_z_score_is_mean_and_deviation_of_each_feature():
    blocks = raw_blocks(0)
    whole = np.concatenate(blocks).astype(np.float64)
    fitted = fit_normalization("z-score", blocks)
    expected = (whole - whole.mean(0)) / np.maximum(whole.std(0), 1e-9)
    found = fitted.apply(np.concatenate(blocks), np.array([0, len(whole)]))
    assert np.allclose(found[:, :2], expected[:, :2], atol=1e-4)
    assert not found[:, 2].any()


def test_log1p_z_score_is_odd_and_tames_long_tails():
    raw = np.array([[0.0], [np.e - 1], [1 - np.e]], np.float32)
    fitted = fit_normalization("log1p-z-score", [raw])
    found = fitted.apply(raw, np.array([0, 3]))
    assert np.allclose(found[:, 0], np.array([0, 1, -1]) / np.sqrt(2 / 3), atol=1e-6)


def test_query_min_max_is_by_list():
    raw = np.array([[1.0], [3.0], [2.0], [7.0], [7.0]], np.float32)
    found = Normalization("query-min-max").apply(raw, np.array([0, 3, 5]))
    assert found[:, 0].tolist() == [0.0, 1.0, 0.5, 0.0, 0.0]


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), name=st.sampled_from(NORMALIZATIONS))
def test_blocks_and_scale_do_not_matter(seed, name):
    blocks = raw_blocks(seed)
    whole = np.concatenate(blocks)
    offsets = np.cumsum([0, *map(len, blocks)])
    one, many = fit_normalization(name, [whole]), fit_normalization(name, blocks)
    assert np.allclose(one.apply(whole, offsets), many.apply(whole, offsets), atol=1e-3)
    assert np.isfinite(many.apply(whole * np.float32(1e30), offsets)).all()


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


# What is refused.


BAD_TRAIN = {
    "malformed": ("1 qid:1 1:2 x\n", "train.txt:1: found 'x'; expected 'number:value'"),
    "nan": ("1 qid:1 1:1\n1 qid:1 1:nan\n", "train.txt:2: feature '1:nan' is not finite"),
    "comes back": (
        "1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n",
        "train.txt:3: query '1' comes back; it began at {}/train.txt:1 (train); expected its",
    ),
    "empty": ("", "train.txt: the file is empty"),
    "no features": ("1 qid:1\n1 qid:2\n1 qid:3\n", "train.txt: no document has a feature"),
    "long id": (f"1 qid:{'x' * 300} 1:1\n", "train.txt:1: the query id has 300 characters"),
    "absurd": ("1 qid:1 999999999:1\n", "expected numbers up to 100000; raise most_features"),
    "negative": ("-1 qid:1 1:1\n", "train.txt:1: label '-1' is negative"),
}


@pytest.mark.parametrize("case", BAD_TRAIN)
def test_bad_training_file_is_one_line(folder, tmp_path, case):
    content, message = BAD_TRAIN[case]
    (folder / "train.txt").write_text(content)
    if case == "no features":
        for name in ("vali", "test"):
            (folder / f"{name}.txt").write_text(f"0 qid:{name}\n")
    with pytest.raises(DataError) as caught:
        import_dataset([folder], tmp_path / "data.h5")
    assert message.format(folder) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_query_in_two_splits_is_refused(folder, tmp_path):
    (folder / "test.txt").write_text(text([24]))
    with pytest.raises(
        DataError, match=r"test.txt:1: query '24' comes back; .*vali.txt:13 \(valid"
    ):
        import_dataset([folder], tmp_path / "data.h5")


def test_query_that_comes_back_in_a_later_block_is_refused(tmp_path):
    (tmp_path / "a.txt").write_text(text([*range(100), 0]))
    with (
        mock.patch.object(lines, "BLOCK", 200),
        pytest.raises(DataError, match=r"a.txt:301: query '0' comes back; it began at .*a.txt:1 "),
    ):
        import_dataset([tmp_path / "a.txt"], tmp_path / "data.h5")


def test_too_few_queries_to_split_off(tmp_path):
    (tmp_path / "a.txt").write_text(text([1, 2]))
    with pytest.raises(DataError, match="no test files, and 1 training queries are too few"):
        import_dataset([tmp_path / "a.txt"], tmp_path / "data.h5")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"paths": []}, "nothing to import"),
        ({"paths": ["none"]}, "none: no such file or folder"),
        ({"paths": ["data", "data/train.txt"]}, "data: is a folder among 2 paths"),
        ({"paths": ["data"], "train": ["x"]}, "give either paths or --train"),
        ({"paths": [], "test": ["x"]}, "no training files; name them with --train"),
        ({"paths": [], "train": ["x"]}, "x: no such file"),
        ({"paths": ["data/train.txt", "odd.txt"]}, "cannot tell the split of odd.txt"),
        ({"paths": ["empty"]}, "empty: no split in this folder"),
        ({"paths": ["data/train.txt"], "valid_share": 0.0}, "no valid files, and valid_share is 0"),
        ({"paths": ["data"], "most_features": 3}, "expected numbers up to 3"),
    ],
)
def test_wrong_arguments_are_one_line(folder, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "odd.txt").write_text("")
    (tmp_path / "empty").mkdir()
    with pytest.raises(CltrError) as caught:
        import_dataset(out="out.h5", **arguments)
    assert message in str(caught.value)
    assert not list(tmp_path.glob("*out.h5*"))


def _set(name, values):
    def change(file):
        del file[name]
        file[name] = values

    return change


FOREIGN = {
    "another format": (lambda f: f.attrs.modify("format", "cltr-log"), "is a cltr-log file"),
    "member missing": (lambda f: f.__delitem__("labels"), "'labels' is missing"),
    "member too many": (lambda f: f.create_dataset("x", data=[1]), "'x' does not belong"),
    "wrong type": (_set("labels", np.zeros(105, int)), "'labels' has type int64"),
    "too few labels": (_set("labels", np.zeros(104)), "'labels' has length 104; expected 105"),
    "link": (_set("labels", h5py.ExternalLink("o.h5", "/x")), "'labels' is a link to elsewhere"),
    "lists do not end": (_set("offsets", np.arange(36)), "'offsets' do not cut 105 documents"),
    "empty list": (
        _set("offsets", np.sort(np.r_[0, 0, np.arange(3, 102, 3), 105])),
        "'offsets' do not cut",
    ),
    "splits overlap": (
        _set("splits", np.array([[0, 20], [19, 25], [25, 35]])),
        "split 'valid' is 19 to 25; expected from 20 on",
    ),
    "splits end early": (
        _set("splits", np.array([[0, 20], [20, 25], [25, 30]])),
        "the splits end at query 30 of 35",
    ),
    "labels too high": (_set("labels", np.full(105, 9.0)), "'labels' are not all between 0 and 2"),
    "labels not numbers": (_set("labels", np.full(105, np.nan)), "'labels' are not all between"),
    "ids not text": (_set("query_ids", np.full((35, 2), 2**31, np.uint32)), "'query_ids' is not"),
    "no fingerprint": (lambda f: f.attrs.__delitem__("fingerprint"), "'fingerprint' is missing"),
    "unknown normalisation": (
        lambda f: f.attrs.modify("normalization", "l2"),
        "normalisation 'l2' with 0 of 2 fitted arrays",
    ),
    "unfitted normalisation": (
        lambda f: f.attrs.modify("normalization", "z-score"),
        "normalisation 'z-score' with 0 of 2 fitted arrays",
    ),
}


@pytest.mark.parametrize("case", FOREIGN)
def test_foreign_file_is_refused(folder, tmp_path, case):
    path = tmp_path / "data.h5"
    import_dataset([folder], path)
    change, message = FOREIGN[case]
    with h5py.File(path, "r+") as file:
        change(file)
    with pytest.raises(DataError) as caught:
        open_dataset(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


# Kill and full disk.


def opens(path):
    try:
        open_dataset(path)
    except DataError:
        return False
    return True


@pytest.mark.parametrize("step", [0, 1, 5, 20, 40, 60, 65])
def test_kill_at_a_step_leaves_nothing_that_opens(folder, tmp_path, step):
    out = tmp_path / "out" / "data.h5"
    out.parent.mkdir()
    steps = iter(range(1000))

    def kill(*_):
        if next(steps) == step:
            os.kill(os.getpid(), signal.SIGKILL)

    with mock.patch.object(lines, "BLOCK", 100), mock.patch.object(spool, "BLOCK", 100):
        assert answer_of(*in_child(lambda: import_dataset([folder], out, progress=kill))) is None
    assert not out.exists()
    assert all(path.name.endswith(PARTIAL) for path in out.parent.iterdir())
    assert not any(opens(path) for path in out.parent.iterdir())


def test_kill_at_any_time_leaves_the_old_file_or_the_new(folder, tmp_path):
    out = tmp_path / "out" / "data.h5"
    out.parent.mkdir()
    old = import_dataset([folder], out)["fingerprint"]
    (folder / "test.txt").write_text(text(range(50, 90)))
    started = time.monotonic()
    new = import_dataset([folder], tmp_path / "new.h5")["fingerprint"]
    duration = time.monotonic() - started
    rng = np.random.default_rng(0)
    for _ in range(15):
        child, receive = in_child(lambda: import_dataset([folder], out))
        time.sleep(rng.uniform(0, 1.2 * duration))
        os.kill(child, signal.SIGKILL)
        answer_of(child, receive)
        assert open_dataset(out).fingerprint in (old, new)
        assert not any(opens(path) for path in out.parent.iterdir() if path != out)


@pytest.mark.parametrize("room", [0, 100, 1000, 4000, 6000, 12_000])
def test_full_disk_is_one_line_and_nothing_is_kept(folder, tmp_path, room):
    out = tmp_path / "out" / "data.h5"
    out.parent.mkdir()

    def task():
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        import_dataset([folder], out)

    answer = answer_of(*in_child(task))
    assert answer is not None
    assert answer.startswith(f"DataError: {out}: cannot be written: file too large")
    assert not list(out.parent.iterdir())


def test_no_space_while_reading_is_one_line(folder, tmp_path, monkeypatch):
    def full(self, values):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(spool._Column, "append", full)
    with pytest.raises(DataError, match=r"data.h5: cannot be written: no space left on device"):
        import_dataset([folder], tmp_path / "data.h5")
    assert [path.name for path in tmp_path.iterdir()] == ["data"]


def test_too_large_for_the_disk_is_said_before_writing(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(text(range(10)) + "1 qid:big 90000:1\n")
    free = mock.Mock(free=10**6)
    monkeypatch.setattr("shutil.disk_usage", lambda path: free)
    with pytest.raises(DataError, match=r"31 documents with 90000 features need 0.0 GB, more than"):
        import_dataset([tmp_path / "a.txt"], tmp_path / "data.h5")


# The judged sets.


@needs_judged
def test_mslr_sample(tmp_path):
    info = import_dataset([JUDGED / "mslr-sample"], tmp_path / "d.h5", normalize="log1p-z-score")
    assert (info["queries"], info["documents"], info["features"]) == (84, 9929, 136)
    assert [split["queries"] for split in info["splits"].values()] == [50, 17, 17]
    assert info["highest_grade"] == 4
    assert np.abs(open_dataset(tmp_path / "d.h5").features).max() < 100


@needs_judged
def test_mq2008(tmp_path):
    parts = {n: JUDGED / "mq2008" / f"S{n}.txt" for n in (1, 2, 3, 4)}
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


@needs_judged
def test_lightgbm_lambdarank(tmp_path):
    info = import_dataset([JUDGED / "lightgbm-lambdarank"], tmp_path / "d.h5")
    assert (info["queries"], info["documents"], info["features"]) == (251, 3773, 300)
    assert info["highest_grade"] == 4
    assert "no valid files: 40 of 201 training queries (20%) were split off" in info["notes"]
