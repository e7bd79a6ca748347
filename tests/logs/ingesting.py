"""Ingest small logs in tests."""

from pathlib import Path

from hypothesis import settings

from cltr.errors import CltrError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import open_log
from cltr.logs.problems import parse_actions
from cltr.logs.readers import LongReader
from tests.plain_logs import rows

MANY = rows(*([(("a", "b", "c"), ("a",)), (("b", "a"), ()), (("c", "a", "b"), ("a", "b"))] * 20))


def ingest(path, *, out=None, reader=None, on=(), **options):
    """Ingest one file; its report and the log."""
    paths = [path] if isinstance(path, Path) else path
    out = out or paths[0].with_name("log.h5")
    source = LogSource(
        paths,
        reader or LongReader(),
        valid=options.pop("valid", ()),
        production=options.pop("production", None),
        test=options.pop("test", ()),
    )
    dataset = options.pop("dataset", None)
    chosen = IngestOptions(actions=parse_actions(on), **options)
    report = ingest_log(source, out, dataset=dataset, options=chosen)
    return report, open_log(out, dataset)


def found(report):
    return {row["problem"]: row["count"] for row in report["problems"]}


FEW = settings(max_examples=max(settings().max_examples // 3, 1))
"""Each example opens a database of its own."""


def refused(path):
    """Nothing but a clear line, and no file, unless it is a log after all."""
    out = path.with_name("out.h5")
    try:
        ingest(path, out=out)
    except CltrError as error:
        assert "\n" not in str(error) and str(error).startswith(str(path))
        assert not out.exists()
    else:
        open_log(out)
    assert [p for p in path.parent.iterdir() if p.name.endswith("partial")] == []
