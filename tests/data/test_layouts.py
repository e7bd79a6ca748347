"""Guards which file is which split, and the presets: what they find, and what they refuse."""

import gzip

import numpy as np
import pytest

from cltr.data.importing import import_dataset, open_dataset
from cltr.errors import DataError, UsageError
from cltr.plugins import registry
from tests.judged import text, write_folder


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


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lambda folder: {"paths": [folder]}, "Fold1 has no folds"),
        (lambda folder: {"paths": [folder / "train.txt"]}, "train.txt is a file"),
        (lambda folder: {"paths": [], "train": [folder / "train.txt"]}, "are given by split"),
    ],
)
def test_a_fold_is_refused_where_there_are_none(tmp_path, given, why):
    _fold(tmp_path, 1, 1)
    with pytest.raises(UsageError, match=f"--fold 3: .*{why}.*; leave out --fold"):
        import_dataset(**given(tmp_path / "Fold1"), out=tmp_path / "1.h5", fold=3)


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


LAYOUTS = {
    "mslr10k": ("Fold1/{}.txt", 136, 4, (6000, 2000, 2000)),
    "mslr30k": ("MSLR-WEB30K/Fold1/{}.txt", 136, 4, (18919, 6306, 6306)),
    "yahoo": ("set1.{}.txt", 699, 4, (19944, 2994, 6983)),
    "istella": ("full/{}.txt", 220, 4, (20901, 2318, 9799)),
    "istella-s": ("sample/{}.txt", 220, 4, (19245, 7211, 6562)),
    "letor4": ("MQ2008/Fold1/{}.txt", 46, 2, (471, 157, 156)),
}
"""Where the files of a set lie; its features, highest grade, and queries by split."""


@pytest.mark.parametrize("preset", registry().names("data-layout"))
def test_every_preset_reads_a_folder_as_it_is_unpacked(tmp_path, preset):
    pattern, features, grade, sizes = LAYOUTS[preset]
    valid = {"yahoo": "valid"}.get(preset, "vali")
    done = 0
    for split, size in zip(("train", valid, "test"), sizes, strict=True):
        path = tmp_path / preset / pattern.format(split)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_sparse(range(done, done + size), features, grade))
        done += size
    info = import_dataset([tmp_path / preset], tmp_path / "data.h5", preset=preset)
    assert tuple(part["queries"] for part in info["splits"].values()) == sizes
    assert (info["name"], info["features"], info["highest_grade"]) == (preset, features, grade)
    path.write_text(_sparse(range(done, done + 3), features, grade))
    with pytest.raises(DataError, match=r"queries, but .* were found; check the files"):
        import_dataset([tmp_path / preset], tmp_path / "no.h5", preset=preset)


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


def test_unknown_preset_and_normalisation(tmp_path):
    folder = write_folder(tmp_path / "data")
    with pytest.raises(UsageError, match=r"no data-layout named 'mslr1'; .*Did you mean 'mslr10k'"):
        import_dataset([folder], tmp_path / "data.h5", preset="mslr1")
    with pytest.raises(
        UsageError, match=r"no normalisation named 'zscore'.*Did you mean 'z-score'"
    ):
        import_dataset([folder], tmp_path / "data.h5", normalize="zscore")
