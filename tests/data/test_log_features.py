"""Guards features that stand in a click log: the first value counts, whatever was clicked."""

import numpy as np
import pandas as pd
import pytest

import cltr
from cltr.errors import CltrError, UsageError


def impressions(*, seed=0):
    """Ten sessions of three queries; ``price`` rises by 1 with every impression of a document."""
    rng = np.random.default_rng(seed)
    rows, seen = [], {}
    for session in range(60):
        query = f"query {session % 3}"
        for position, document in enumerate(rng.permutation(4)[:3], start=1):
            n = seen[query, document] = seen.get((query, document), 0) + 1
            rows.append(
                {
                    "session": session,
                    "query": query,
                    "document": f"d{document}",
                    "position": position,
                    "click": int(rng.random() < 0.4),
                    "time": 1000 + session,
                    "match": float(10 * document + session % 3),
                    "price": float(n),
                }
            )
    return pd.DataFrame(rows)


def ingest(frame, tmp_path, **options):
    log = cltr.ingest(
        frame,
        out=tmp_path / "log.h5",
        feature_columns=["match", "price"],
        data_out=tmp_path / "data.h5",
        **options,
    )
    return log, cltr.open_dataset(tmp_path / "data.h5")


def test_log_and_data_set_in_one_go(tmp_path):
    log, data = ingest(impressions(), tmp_path)
    assert data.feature_names == ("match", "price")
    assert not data.judged and data.shared
    assert data.features[:, 1].tolist() == [1.0] * data.n_documents
    number = np.char.replace(data.document_ids, "d", "").astype(float)
    query = np.repeat([int(q[-1]) for q in data.query_ids], data.lists.lengths)
    np.testing.assert_array_equal(data.features[:, 0], 10 * number + query)
    assert sum(log.report["n_interactions"].values()) == 60
    told = (
        f"{data.n_documents} of {data.n_documents} documents have features that change in the log"
    )
    assert told in log.report["notes"][0]
    assert f"'price' of {data.n_documents}" in log.report["notes"][0]
    assert "'match'" not in log.report["notes"][0]


def test_the_rule_looks_at_no_click(tmp_path):
    frame = impressions()
    _, data = ingest(frame, tmp_path)
    (tmp_path / "other").mkdir()
    _, other = ingest(frame.assign(click=1 - frame.click), tmp_path / "other")
    assert data.fingerprint == other.fingerprint


def test_the_first_is_the_earliest_where_times_are_known(tmp_path):
    frame = impressions()
    _, data = ingest(frame[::-1], tmp_path, time_column="time")
    assert data.features[:, 1].tolist() == [1.0] * data.n_documents
    (tmp_path / "other").mkdir()
    _, later = ingest(frame[::-1], tmp_path / "other")
    assert later.features[:, 1].min() > 1


def test_a_value_that_comes_later_fills_one_that_is_missing(tmp_path):
    frame = impressions()
    frame.loc[frame.price == 1, "price"] = np.nan
    _, data = ingest(frame, tmp_path)
    assert data.features[:, 1].tolist() == [2.0] * data.n_documents
    with pytest.raises(CltrError, match="values of feature 'price' are missing"):
        ingest(frame.assign(price=np.nan), tmp_path)


def test_what_does_not_go_together_is_refused(tmp_path):
    frame = impressions()
    for options, message in (
        ({"feature_columns": ["match"]}, "--feature-column and --data-out go together"),
        ({"data_out": tmp_path / "d.h5"}, "go together"),
        (
            {"feature_columns": ["m*"], "data_out": tmp_path / "d.h5", "data": "demo"},
            "cannot be used with --data",
        ),
    ):
        with pytest.raises(UsageError, match=message):
            cltr.ingest(frame, out=tmp_path / "log.h5", **options)
    with pytest.raises(CltrError):
        ingest(frame.assign(position=0), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_failure_keeps_the_data_set_that_was_there(tmp_path):
    (tmp_path / "data.h5").write_text("of last week")
    with pytest.raises(CltrError, match=r"--top-k|ranks"):
        ingest(impressions(), tmp_path, top_k=5000)
    assert (tmp_path / "data.h5").read_text() == "of last week"
    assert [path.name for path in tmp_path.iterdir()] == ["data.h5"]
