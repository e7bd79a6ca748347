"""Guards that a data set is the same whichever way it comes, to the last bit of what it teaches."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from cltr.data.demo import demo_dataset
from cltr.data.exporting import export_dataset, feature_names
from cltr.data.frames import read_dataset
from cltr.data.importing import import_dataset, open_dataset, save_dataset
from cltr.errors import DataError, UsageError
from cltr.experiment.config import RunConfig
from cltr.experiment.experiment import Experiment
from cltr.files.trec import read_qrels
from cltr.logs.score_files import export_run, read_scores
from cltr.testing import tiny_dataset
from cltr.training.score_documents import score


def few():
    """Queries of the demo data, in all splits."""
    demo = demo_dataset()
    splits = {"train": (0, 20), "valid": (20, 30), "test": (30, 40)}
    return replace(demo.queries(0, 40), splits=splits, first_document=0, name="few")


def write_svmlight(dataset, folder):
    folder.mkdir()
    for split in dataset.splits:
        part = dataset.part(split)
        owners = np.repeat(part.query_ids, part.lists.lengths)
        lines = [
            f"{label:g} qid:{query} {' '.join(f'{i + 1}:{x!s}' for i, x in enumerate(row))} # {id}"
            for label, query, row, id in zip(
                part.labels, owners, part.features, part.document_ids, strict=True
            )
        ]
        (folder / f"{split}.txt").write_text("\n".join(lines))
    return folder


WAYS = ("svmlight", "parquet", "csv", "frame")


def by_way(way, tmp_path, **options):
    dataset, out = few(), tmp_path / f"{way}.h5"
    if way == "svmlight":
        import_dataset([write_svmlight(dataset, tmp_path / "svmlight")], out, **options)
        return open_dataset(out)
    if way == "frame":
        path = tmp_path / "frame.parquet"
        export_dataset(dataset, path)
        return read_dataset(pd.read_parquet(path), **options)
    path = tmp_path / f"few.{way}"
    export_dataset(dataset, path)
    import_dataset([path], out, **options)
    return open_dataset(out)


@pytest.mark.parametrize("normalize", ["none", "z-score", "query-min-max"])
def test_every_way_gives_the_same_data(tmp_path, normalize):
    found = {way: by_way(way, tmp_path, normalize=normalize) for way in WAYS}
    assert len({data.fingerprint for data in found.values()}) == 1
    np.testing.assert_array_equal(found["csv"].features, found["svmlight"].features)


def test_every_way_gives_the_same_policy(tmp_path):
    config = RunConfig.model_validate(
        {"interactions": 2000, "reward": {"name": "naive"}, "training": {"epochs": 2}}
    )
    scores = []
    for way in WAYS:
        data = by_way(way, tmp_path, normalize="z-score")
        experiment = Experiment.simulated(config, dataset=data)
        learned = experiment.run().learned
        scores.append(score(learned.model, data))
    assert np.isfinite(scores[0]).all()
    for other in scores[1:]:
        np.testing.assert_array_equal(other, scores[0])


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_table_is_read_back_to_the_last_bit(tmp_path, kind):
    rng = np.random.default_rng(0)
    data = tiny_dataset(9)
    values = rng.normal(size=data.features.shape) * 10.0 ** rng.integers(
        -44, 38, data.features.shape
    )
    data = replace(data, features=values.astype(np.float32), fingerprint="")
    save_dataset(data, tmp_path / "a.h5")
    export_dataset(data, tmp_path / f"a.{kind}")
    found = read_dataset(tmp_path / f"a.{kind}")
    assert found.fingerprint == open_dataset(tmp_path / "a.h5").fingerprint
    assert list(found.feature_names) == feature_names(data)


def test_a_table_without_judgements_or_splits_is_read_back(tmp_path):
    frame = {"query": ["q u", "q u", 'a "b", c'], "document": [1, 2, 1], "x": [1.5, 2.5, np.pi]}
    data = read_dataset(frame)
    for kind in ("parquet", "csv"):
        export_dataset(data, tmp_path / f"a.{kind}")
        found = read_dataset(tmp_path / f"a.{kind}")
        assert found.fingerprint == data.fingerprint
        assert found.query_ids.tolist() == ["q u", 'a "b", c']
    with pytest.raises(DataError, match="has no judgements to write"):
        export_dataset(data, tmp_path / "a.qrels")


def test_judgements_of_trec(tmp_path):
    data = few()
    export_dataset(data, tmp_path / "judged.qrels")
    assert len(read_qrels(tmp_path / "judged.qrels").values) == data.n_documents
    export_dataset(replace(data, labels=np.full(data.n_documents, np.nan)), tmp_path / "f.parquet")
    info = import_dataset(
        [tmp_path / "f.parquet"],
        tmp_path / "d.h5",
        columns={"qrels": str(tmp_path / "judged.qrels")},
    )
    found = open_dataset(tmp_path / "d.h5")
    np.testing.assert_array_equal(found.labels, data.labels)
    assert (
        f"{data.n_documents:,} of {data.n_documents:,} judgements are on these documents"
        in (info["notes"])
    )


def test_judgements_are_matched_by_id_in_any_order(tmp_path):
    frame = pd.DataFrame(
        {"query": ["b", "a", "b", "c", "a"], "document": [1, 1, 2, 1, 2], "x": range(5)}
    )
    (tmp_path / "q.txt").write_text("a 0 2 3\nz 0 1 1\nb 0 9 1\nb 0 1 2\n")
    found = read_dataset(frame.assign(split="train", label=7), qrels=str(tmp_path / "q.txt"),
                         valid_share=0.3, test_share=0.3)  # fmt: skip
    labels = dict(
        zip(
            zip(np.repeat(found.query_ids, found.lists.lengths), found.document_ids, strict=True),
            found.labels.tolist(),
            strict=True,
        )
    )
    assert labels[("a", "1")] == 0 and labels[("a", "2")] == 3
    assert labels[("b", "1")] == 2 and labels[("b", "2")] == 0
    assert np.isnan(labels[("c", "1")])
    assert found.feature_names == ("x",)
    (tmp_path / "q.txt").write_text("A 0 2 3\n")
    with pytest.raises(DataError, match="no judgement is on a document of data frame"):
        read_dataset(frame, qrels=str(tmp_path / "q.txt"))


def test_scores_as_a_run_and_back(tmp_path):
    data = few()
    values = np.random.default_rng(0).normal(size=data.n_documents)
    frame = {"query": np.repeat(data.query_ids, data.lists.lengths), "document": data.document_ids}
    pd.DataFrame(frame | {"score": values}).to_parquet(tmp_path / "s.parquet")
    export_run(tmp_path / "s.parquet", tmp_path / "s.trec")
    np.testing.assert_array_equal(read_scores(tmp_path / "s.trec", data), values)


def test_what_cannot_be_written_is_refused(tmp_path):
    with pytest.raises(UsageError, match="what to write; choose with --to: parquet, csv, qrels"):
        export_dataset(few(), tmp_path / "x.arrow")
    data = read_dataset({"query": ["a"], "document": ["b"], "x": [1.0]})
    with pytest.raises(DataError, match="a feature is named 'query'"):
        export_dataset(replace(data, feature_names=("query",)), tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []
