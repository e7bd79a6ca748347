"""Guards exports of logs: ingested again, they give the same counts and the same policy."""

import pytest

from cltr.errors import DataError, UsageError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_export import export_log, export_scores
from cltr.logs.log_file import open_log
from cltr.logs.readers import LongReader
from tests import untidy_logs as untidy
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
