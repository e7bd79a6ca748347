"""Guards exports of logs: ingested again, they give the same counts and the same policy."""

import numpy as np
import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_export import export_log, export_scores
from cltr.logs.log_file import open_log
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.stored_sessions import read_sessions
from cltr.types import LOG_PARTS
from tests import untidy_logs as untidy
from tests.logs.ingesting import MANY, ingest
from tests.plain_logs import counted, write_jsonl

MADE = untidy.interactions(120)


@pytest.mark.parametrize("kind", ["parquet", "csv", "tsv", "jsonl"])
def test_an_exported_log_is_the_same_log(tmp_path, kind):
    path, out = write_jsonl(tmp_path / "log.jsonl", untidy.tidy(MADE)), tmp_path / "log.h5"
    reader = LongReader(context_columns=("click",))
    ingest_log(LogSource([path], reader), out, options=IngestOptions(sessions=True))
    again = tmp_path / f"again.{kind}"
    assert export_log(out, again) == 1200
    ingest_log(LogSource([again], LongReader()), tmp_path / "again.h5")
    assert counted(open_log(tmp_path / "again.h5")) == untidy.truth(MADE)


def test_an_exported_log_keeps_its_parts(tmp_path):
    path, out = write_jsonl(tmp_path / "log.jsonl", untidy.tidy(MADE)), tmp_path / "log.h5"
    split, again = Split(seed=7, test_share=0.3), tmp_path / "again.csv"
    ingest_log(
        LogSource([path], LongReader()), out, options=IngestOptions(split=split, sessions=True)
    )
    export_log(out, again)
    report = ingest_log(
        LogSource([again], LongReader()),
        tmp_path / "again.h5",
        options=IngestOptions(sessions=True),
    )
    first, second = open_log(out), open_log(tmp_path / "again.h5")
    assert [*second.statistics] == ["train", "valid", "test"]
    for part, counts in first.statistics.items():
        found = second.statistics[part]
        assert np.array_equal(found.impressions, counts.impressions)
        assert np.array_equal(found.clicks, counts.clicks)
    assert report["split"]["by"] == "part"
    assert any("column 'part'" in note for note in report["notes"])
    assert "part" not in next(iter(read_sessions(tmp_path / "again.h5", "train"))).context


def test_another_split_may_be_asked_for(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", [
        row | {"part": "train" if int(row["session"][1:]) % 2 else "valid"} for row in MANY
    ])  # fmt: skip
    assert ingest(path)[0]["n_interactions"] == {"train": 30, "valid": 30}
    for asked in ({"keep_parts": False}, {"split": Split(share=0.3)}):
        report, _ = ingest(path, **asked)
        assert report["n_interactions"] != {"train": 30, "valid": 30}
        assert any("'part' of the table was not used" in note for note in report["notes"])


def test_the_column_may_be_asked_for(tmp_path):
    path = write_jsonl(tmp_path / "log.jsonl", MANY)
    with pytest.raises(UsageError, match="--split-by part needs a column 'part'"):
        ingest(path, split=Split(by="part"))
    with pytest.raises(UsageError, match="--split-by part: cannot be used with --valid"):
        ingest(path, split=Split(by="part"), valid=[path])


def test_an_interaction_is_in_one_part(tmp_path):
    """The last that its rows name: what is for testing is not trained on."""
    table = [
        row
        | {
            "session": f"{first}-{row['session']}",
            "part": first if row["position"] == 1 else "train",
        }
        for first in LOG_PARTS
        for row in MANY
    ]
    path = write_jsonl(tmp_path / "log.jsonl", table)
    for sessions in (False, True):
        report, log = ingest(path, sessions=sessions)
        assert report["n_interactions"] == {"train": 60, "valid": 60, "test": 60}
        assert log.statistics["test"].impressions.sum() == len(MANY)


@pytest.mark.parametrize(
    "values", [["brakes", "train", "valid"], ["train"], ["train", "valid", None]]
)
def test_a_column_of_that_name_may_mean_something_else(tmp_path, values):
    table = [row | {"part": values[i % len(values)]} for i, row in enumerate(MANY)]
    report, _ = ingest(write_jsonl(tmp_path / "log.jsonl", table))
    assert (report["split"]["by"], report["notes"]) == ("interaction", [])


def test_what_cannot_be_exported(tmp_path):
    path, out = write_jsonl(tmp_path / "log.jsonl", untidy.tidy(MADE)), tmp_path / "log.h5"
    ingest_log(LogSource([path], LongReader()), out)
    with pytest.raises(DataError, match="holds counts only; keep the interactions too"):
        export_log(out, tmp_path / "clicks.parquet")
    with pytest.raises(DataError, match="has no production scores"):
        export_scores(out, tmp_path / "scores.parquet")
    with pytest.raises(UsageError, match="the name of a table must end in"):
        export_log(out, tmp_path / "clicks.xlsx")
    assert not list(tmp_path.glob("*.parquet"))
