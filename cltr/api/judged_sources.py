"""What ``evaluate`` and ``gate`` judge: candidates and logs, from files or from memory."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import Any

from cltr.api.ingest import ingest
from cltr.api.sources import DataLike, FileName, LogLike, as_files, file_of, named_data
from cltr.errors import UsageError
from cltr.evaluation.candidate import Serve
from cltr.experiment.candidates import (
    CandidateRanker,
    check_candidate,
    is_score_table,
    load_candidate,
)
from cltr.experiment.judged_log import Clicks, JudgedLog, log_config, open_judged_log
from cltr.files.claims import hidden_folder

CandidateLike = Any
"""A run or its folder, a table of scores or ranks (a file or a frame), a TREC run, or the word
``production``."""


def check_files(
    candidates: Sequence[CandidateLike], log: LogLike, clicks: str, score_column: str
) -> None:
    """Refuse candidates that are not there or cannot be judged, before the log is made ready."""
    named = [getattr(one, "path", one) for one in candidates]
    files = [Path(one) for one in named if isinstance(one, str | PathLike)]
    for path in files:
        check_candidate(path, log=file_of(log), clicks=clicks, score_column=score_column)
    if score_column and len(files) == len(named) and not any(map(is_score_table, files)):
        raise UsageError(
            f"--score-column {score_column}: no candidate is a table of scores; leave it out"
        )


@contextmanager
def opened(
    log: LogLike,
    *,
    data: DataLike | None,
    clicks: Clicks,
    production: FileName | None,
    **settings: Any,
) -> Iterator[JudgedLog]:
    """Open a log to judge candidates by; a table in memory is ingested first."""
    dataset = named_data(data)
    named, kept = (dataset, None) if isinstance(dataset, str) else (None, dataset)
    with hidden_folder() as folder:
        path = file_of(log)
        if path is None:
            path = folder / "log.h5"
            ingest(log, out=path, data=data, sessions=True, progress=False)
        config = log_config(
            path,
            data=named,
            production=None if production is None else Path(production),
            **settings,
        )
        yield open_judged_log(config, clicks=clicks, dataset=kept)


@contextmanager
def loaded(
    candidates: Sequence[CandidateLike],
    judged: JudgedLog,
    *,
    serve: Serve | None,
    score_column: str = "",
) -> Iterator[list[CandidateRanker]]:
    """Load candidates for the lists of a log; data frames are written to temporary files."""
    if not candidates:
        raise UsageError("no candidate; give a run, a table of scores or 'production'")
    sources = [getattr(one, "path", one) for one in candidates]
    with as_files(*sources) as files:
        yield [
            load_candidate(
                paths[0], judged, name=_name(source), serve=serve, score_column=score_column
            )
            for source, paths in zip(sources, files, strict=True)
        ]


def _name(source: Any) -> str:
    return str(source) if isinstance(source, str | PathLike) else "data frame"
