"""Guards data sets from tables: ids, order, splits, judgements and values are what they were."""

from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import cltr
from cltr.data.frames import read_dataset
from cltr.data.importing import dataset_info, import_dataset, save_dataset
from cltr.errors import DataError
from cltr.files.portable_split import share
from tests.data.feature_tables import COLUMNS, columns, wide, write


def test_the_public_name():
    assert cltr.read_dataset is read_dataset


def test_everything_is_where_it_belongs():
    data = read_dataset(columns())
    assert data.query_ids.tolist() == ["red shoes", "tea & cup", "cup"]
    assert data.document_ids.tolist() == ["b", "a", "c", "b", "a", "a"]
    assert data.labels.tolist() == COLUMNS["label"]
    assert data.feature_names == ("x", "n")
    np.testing.assert_array_equal(data.features[:, 0], np.float32(COLUMNS["x"]))
    assert data.features[:, 1].tolist() == COLUMNS["n"]
    assert data.offsets.tolist() == [0, 2, 5, 6]
    assert data.highest_grade == 2
    assert data.splits["train"] == (0, 1)


FRAMES = {
    "pandas": lambda frame: frame.set_index(np.arange(len(frame)) * 3),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
    "arrow batches": lambda frame: pa.Table.from_pandas(frame, preserve_index=False).to_reader(11),
    "lists": lambda frame: {name: frame[name].tolist() for name in frame},
    "numpy": lambda frame: {name: frame[name].to_numpy() for name in frame},
    "rows": lambda frame: frame.to_dict("records"),
}


@pytest.mark.parametrize("kind", FRAMES)
@pytest.mark.parametrize("normalize", ["none", "log1p-z-score"])
def test_every_frame_gives_the_same_data(kind, normalize):
    expected = read_dataset(wide(), normalize=normalize)
    found = read_dataset(FRAMES[kind](wide()), normalize=normalize)
    assert found.fingerprint == expected.fingerprint
    np.testing.assert_array_equal(found.features, expected.features)


@pytest.mark.parametrize(
    "name", ["f.parquet", "f.csv", "f.csv.gz", "f.tsv", "f.jsonl", "f.jsonl.gz"]
)
def test_every_file_gives_the_same_data(tmp_path, name):
    expected = read_dataset(wide(), normalize="z-score")
    path = write(wide(), tmp_path / name)
    info = import_dataset([path], tmp_path / "d.h5", normalize="z-score")
    assert info["fingerprint"] == expected.fingerprint
    assert info["feature_names"] == ["f0", "f1", "f2", "f3"]
    assert read_dataset(path, normalize="z-score").fingerprint == expected.fingerprint


def test_rows_in_any_order_give_the_same_lists(tmp_path):
    """Queries come in the order of their first row, documents in that of their rows."""
    frame = wide()
    mixed = frame.sample(frac=1.0, random_state=3)
    found = read_dataset(mixed)
    order = {query: place for place, query in enumerate(pd.unique(mixed.qid))}
    grouped = mixed.sort_values("qid", key=lambda ids: ids.map(order), kind="stable")
    assert found.fingerprint == read_dataset(grouped).fingerprint
    keys = set(
        zip(np.repeat(found.query_ids, found.lists.lengths), found.document_ids, strict=True)
    )
    assert keys == set(zip(frame.qid, frame.doc.astype(str), strict=True))
    by_key = frame.set_index([frame.qid, frame.doc.astype(str)])
    first = (found.query_ids[0], found.document_ids[0])
    np.testing.assert_array_equal(
        found.features[0], by_key.loc[first, ["f0", "f1", "f2", "f3"]].to_numpy(np.float32)
    )


def test_files_of_a_folder_are_one_table(tmp_path):
    folder = tmp_path / "parts"
    folder.mkdir()
    frame = wide()
    for number, rows in enumerate(np.array_split(np.arange(len(frame)), 4)):
        write(frame.iloc[rows], folder / f"part-{number}.parquet", row_group_size=9)
    assert (
        import_dataset([folder], tmp_path / "d.h5")["fingerprint"]
        == read_dataset(frame).fingerprint
    )


def test_a_table_with_duckdbs_own_names_is_read(tmp_path):
    frame = (
        wide().assign(file_row_number=5.0, rowid=1, row=2, label_=3).sample(frac=1, random_state=1)
    )
    path = write(frame, tmp_path / "f.parquet")
    assert read_dataset(path).fingerprint == read_dataset(frame).fingerprint


def test_large_blocks_are_cut_and_put_together(tmp_path, monkeypatch):
    """Blocks that are smaller than batches, and batches that are smaller than blocks."""
    frame = wide(n_queries=700, length=9)
    expected = read_dataset(frame)
    for block in (64, 1 << 14, 1 << 18):
        monkeypatch.setattr("cltr.data.disk_spool.BLOCK", block)
        assert read_dataset(frame).fingerprint == expected.fingerprint


# Ids


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        ([7, 8, 9], ["7", "8", "9"]),
        ([2**63 - 1, -5, 0], [str(2**63 - 1), "-5", "0"]),
        (["Ärger um 10:00", " x ", "𝕏"], ["Ärger um 10:00", " x ", "𝕏"]),
        (["460.10", "00012", "1e5"], ["460.10", "00012", "1e5"]),
    ],
)
@pytest.mark.parametrize("kind", ["frame", "parquet", "csv"])
def test_ids_stay_what_they_are(tmp_path, ids, expected, kind):
    frame = pd.DataFrame({"query": ids, "document": ids[::-1], "x": [1.0, 2.0, 3.0]})
    source = frame if kind == "frame" else write(frame, tmp_path / f"f.{kind}")
    found = read_dataset(source)
    assert found.query_ids.tolist() == expected
    assert found.document_ids.tolist() == expected[::-1]


def test_documents_without_ids_are_known_by_their_place():
    data = read_dataset(columns(document=None), document_column="none")
    assert data.document_ids.tolist() == ["0", "1", "0", "1", "2", "0"]


# Splits


def test_words_for_splits():
    words = ["training", "Train", "vali", "dev", "VALIDATION"]
    frame = columns(query=["a", "b", "c", "d", "e"], split=words)
    assert read_dataset(frame).splits == {"train": (0, 2), "valid": (2, 5), "test": (5, 6)}


def test_queries_are_split_by_md5_of_their_ids():
    data = read_dataset(wide(n_queries=400, length=2), valid_share=0.3, test_share=0.1)
    parts = {split: data.part(split).query_ids for split in data.splits}
    assert all(share(query) < 0.3 for query in parts["valid"])
    assert all(0.3 <= share(query) < 0.4 for query in parts["test"])
    assert all(share(query) >= 0.4 for query in parts["train"])
    more = read_dataset(wide(n_queries=500, length=2), valid_share=0.3, test_share=0.1)
    assert set(parts["test"]) <= set(more.part("test").query_ids)


def test_a_few_queries_are_split_too():
    for n in (3, 4, 5):
        data = read_dataset(wide(n_queries=n, length=2))
        assert all(data.part(split).n_queries >= 1 for split in data.splits)
    with pytest.raises(DataError, match="2 queries are too few to split off valid and test"):
        read_dataset(wide(n_queries=2))


def test_files_by_split(tmp_path):
    frame = wide()
    names = {"train": frame[:140], "valid": frame[140:175], "test": frame[175:]}
    paths = {s: [write(part, tmp_path / f"{s}.parquet")] for s, part in names.items()}
    given = import_dataset([], tmp_path / "a.h5", **paths)
    found = import_dataset([tmp_path], tmp_path / "b.h5")
    assert [given["splits"][split]["queries"] for split in names] == [20, 5, 5]
    assert found["fingerprint"] == given["fingerprint"]


# Judgements


def test_without_judgements_nothing_is_split_off(tmp_path):
    data = read_dataset(wide(labels=False))
    assert not data.judged
    assert data.shared
    assert set(data.splits.values()) == {(0, 30)}
    assert np.isnan(data.labels).all()
    save_dataset(data, tmp_path / "d.h5")
    again = cltr.open_dataset(tmp_path / "d.h5")
    assert again.splits == data.splits
    assert again.feature_names == data.feature_names
    info = dataset_info(tmp_path / "d.h5")
    assert info["judged_queries"] == 0
    assert info["splits"]["train"]["grades"] == {}


def test_a_query_is_judged_wholly_or_not_at_all(tmp_path):
    frame = columns(label=[None, None, 2, None, float("nan")])
    info = import_dataset([write(pd.DataFrame(frame), tmp_path / "f.parquet")], tmp_path / "d.h5")
    data = cltr.open_dataset(tmp_path / "d.h5")
    assert data.judged_queries.tolist() == [False, True, False]
    np.testing.assert_array_equal(data.labels, [np.nan, np.nan, 2, 0, 0, np.nan])
    assert "2 documents of 1 judged queries have no judgement and count as grade 0" in info["notes"]
    assert "2 of 3 queries have no judgements" in info["notes"]


@pytest.mark.parametrize("name", ["relevance", "grade", "rel", "Label"])
def test_judgements_never_become_features(name):
    data = read_dataset(columns(label=None) | {name: [1, 0, 2, 0, 0, 0]})
    assert data.feature_names == ("x", "n")
    assert data.judged


def test_svmlight_files_without_judgements(tmp_path):
    lines = [f"0 qid:{q} 1:{q} 2:{d} # d{d}" for q in range(9) for d in range(4)]
    (tmp_path / "f.txt").write_text("\n".join(lines))
    info = import_dataset([tmp_path / "f.txt"], tmp_path / "d.h5", judgements=False)
    assert info["judged_queries"] == 0
    assert info["shared"]
    assert info["splits"]["train"]["queries"] == 9


# Values


def test_missing_values_are_refused_set_to_zero_or_to_the_training_mean(tmp_path):
    frame = wide()
    frame.loc[::5, "f1"] = np.nan
    path = write(frame, tmp_path / "f.parquet")
    with pytest.raises(DataError, match="42 of 210 values of feature 'f1' are missing, the first"):
        read_dataset(path)
    zero = import_dataset([path], tmp_path / "zero.h5", columns={"missing": "zero"})
    assert zero["notes"][-1] == "42 missing values of 1 feature set to 0: 'f1'"
    filled = read_dataset(frame.fillna(0.0))
    assert zero["fingerprint"] == filled.fingerprint
    training = filled.part("train").query_ids
    mean = frame[frame.qid.isin(training)].f1.astype(np.float32).mean(skipna=True)
    found = read_dataset(frame, missing="mean")
    gaps = read_dataset(frame.assign(f1=frame.f1.isna() * 1.0)).features[:, 1] > 0
    np.testing.assert_allclose(found.features[gaps, 1], mean, rtol=1e-6)
    assert np.isfinite(found.features).all()


def test_missing_values_are_filled_before_normalisation():
    frame = wide()
    frame.loc[::5, "f1"] = np.nan
    found = read_dataset(frame, missing="zero", normalize="z-score")
    assert found.fingerprint == read_dataset(frame.fillna(0.0), normalize="z-score").fingerprint


def test_text_becomes_the_nearest_number(tmp_path):
    """As in SVMlight files: the nearest 64-bit number, then the nearest 32-bit number."""
    words = ["0.1", "1e-45", "16777217", "3.4028235e38", "0.30000001192092896", "-0", ".5", "+2"]
    words += ["1" + "0" * 30, "5e-324", "0.1000000014901161193847656250000001"]
    lines = [f"q{i // 3},d{i},{word}" for i, word in enumerate(words)]
    (tmp_path / "f.csv").write_text("query,document,x\n" + "\n".join(lines))
    expected = np.array([float(word) for word in words]).astype(np.float32)
    found = read_dataset(tmp_path / "f.csv").features[:, 0]
    np.testing.assert_array_equal(found.view(np.uint32), expected.view(np.uint32))


def test_booleans_constants_and_whole_numbers_are_features(tmp_path):
    frame = pd.DataFrame(columns(x=[True, False, True, True, False])).assign(c=1)
    for source in (frame, write(frame, tmp_path / "f.csv"), write(frame, tmp_path / "f.jsonl")):
        assert read_dataset(source).features[:, 0].tolist() == [1, 0, 1, 1, 0, 0]


def test_features_are_chosen_by_patterns():
    assert read_dataset(wide(), feature_columns=["f[13]"]).feature_names == ("f1", "f3")
    assert read_dataset(wide(), leave_out=["f1", "f2"]).feature_names == ("f0", "f3")


def test_little_memory_is_enough(tmp_path):
    """Rows that must be sorted and do not fit go to disk."""
    path = tmp_path / "f.parquet"
    duckdb.execute(
        "COPY (SELECT 'q' || hash(i) % 5000 AS query, 'd' || i AS document, "
        + ", ".join(f"random() AS f{k}" for k in range(60))
        + f" FROM range(200000) AS t(i)) TO '{path}' (ROW_GROUP_SIZE 20000)"
    )
    info = import_dataset([path], tmp_path / "d.h5", memory="150MB")
    assert info["documents"] == 200_000
    assert sorted(p.name for p in Path(tmp_path).iterdir()) == ["d.h5", "f.parquet"]


def test_a_file_of_floats_keeps_every_bit(tmp_path):
    values = np.array([0.1, 1 / 3, 1e-40, -0.0, 3.4028235e38], np.float32)
    values = np.append(values, values[0])
    table = pa.table(columns(x=None) | {"x": values})
    pq.write_table(table, tmp_path / "f.parquet")
    found = read_dataset(tmp_path / "f.parquet", leave_out=["n"]).features[:, 0]
    np.testing.assert_array_equal(found.view(np.uint32), values.view(np.uint32))
