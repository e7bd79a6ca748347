"""Log files of several days or machines into one: counts add up, by query and document."""

import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from cltr.errors import DataError, UsageError
from cltr.files.storage import keep_inputs
from cltr.logs.digests import Digests, shared_share, together
from cltr.logs.log_file import LogFile, open_log, write_log, write_sessions
from cltr.logs.log_report import report
from cltr.logs.merged_description import describe, missing_tests
from cltr.logs.merged_lists import Union, unite
from cltr.logs.problems import Problems
from cltr.logs.stored_sessions import (
    INTERACTIONS_AT_ONCE,
    context_names,
    has_sessions,
    read_sessions,
)
from cltr.logs.time_units import new_parts
from cltr.logs.time_windows import Window
from cltr.types import LOG_PARTS, ClickLog, ClickStatistics, Floats


def merge_files(
    paths: Sequence[Path],
    out: Path,
    *,
    window: Window | None = None,
    actions: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Add up log files into one; returns a report.

    Args:
        paths: logs from ``cltr ingest``, all standing alone or all on one data set.
        out: the log file to write; it holds interactions if all logs do.
        window: times between which parts of logs are kept.
        actions: what to do about problems, by name.
    """
    began = time.perf_counter()
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a log file is named twice; its clicks would count twice")
    keep_inputs(out, paths)
    logs, names = [open_log(path) for path in paths], [str(path) for path in paths]
    merged = _Merger(logs, names, window or Window(), actions or {})
    log = merged.log()
    if all(has_sessions(path) for path in paths):
        log = replace(log, description={**log.description, "sessions": True})
        _write_interactions(out, log, merged, paths)
    else:
        write_log(out, log)
    return report(log, out, seconds=time.perf_counter() - began)


def merge_logs(logs: Sequence[LogFile], *, names: Sequence[str] = ()) -> LogFile:
    """One log with the counts of all.

    Documents are matched by query and document id. Scores are kept if all logs have them and
    agree; propensities are mixed by each query's traffic, as if all had been ingested at once.
    There is a test part if any log has one; the description says which logs have none.

    Args:
        logs: all of one kind.
        names: what to call them in errors.
    """
    called = names or [f"log {number}" for number in range(1, len(logs) + 1)]
    return _Merger(logs, called, Window(), {}).log()


class _Merger:
    """Several logs, what their parts become, and where their documents lie in the merged one."""

    def __init__(
        self,
        logs: Sequence[LogFile],
        names: Sequence[str],
        window: Window,
        actions: Mapping[str, str],
    ) -> None:
        _check_alike(logs, names)
        self.logs, self.names = logs, names
        self.problems = Problems(names[0], actions)
        self.digests, self.digest_note = _merge_digests(logs, names, self.problems)
        self.parts = new_parts(logs, names, window)
        self.union = unite(logs, set(self.parts.values()))

    def log(self) -> LogFile:
        """The merged log; its counts, not its interactions."""
        logs, union = self.logs, self.union
        scores, varying = _merge_scores(logs, union)
        statistics = {split: self.add(split) for split in union.offsets}
        described = describe(logs, self.parts, union.top_k, varying)
        described["problems"] += self.problems.table()
        described["n_interactions"] = statistics["train"].n_interactions
        notes = [*missing_tests(logs, self.names), *self.digest_note]
        kinds = {"digests": logs[0].description["digests"]} if self.digests is not None else {}
        return LogFile(
            statistics,
            scores,
            described | kinds | {"notes": notes},
            logs[0].fingerprint if union.lists is None else union.lists.fingerprint,
            union.lists,
            mix_propensities(self, LOG_PARTS),
            {
                split: part
                for split in statistics
                if (part := self._part_chances(split)) is not None
            },
            self.digests,
        )

    def sources(self, split: str) -> list[tuple[int, str]]:
        """Logs, by number, and their parts that become a part of the merged log."""
        return [key for key, part in self.parts.items() if part == split]

    def add(self, split: str) -> ClickStatistics:
        """Counts of one part of the merged log."""
        union, offsets = self.union, self.union.offsets[split]
        impressions = np.zeros((int(offsets[-1]), union.top_k), np.int64)
        clicks, displays = np.zeros_like(impressions), np.zeros(len(offsets) - 1, np.int64)
        for number, part in self.sources(split):
            counts, rows = self.logs[number].statistics[part], union.documents[part][number]
            impressions[rows, : counts.top_k] += counts.impressions
            clicks[rows, : counts.top_k] += counts.clicks
            displays[union.queries[part][number]] += counts.displays
        return ClickStatistics(impressions, clicks, displays, offsets)

    def _part_chances(self, split: str) -> Floats | None:
        if not any(log.part_propensities for log in self.logs):
            return None
        return mix_propensities(self, (split,))


def _check_alike(logs: Sequence[LogFile], names: Sequence[str]) -> None:
    for log, name in zip(logs, names, strict=True):
        if "format" not in log.description:
            raise DataError(f"{name}: is simulated; only ingested logs are merged")
        if (log.lists is None) != (logs[0].lists is None):
            on, alone = (names[0], name) if logs[0].lists is None else (name, names[0])
            raise DataError(
                f"{on} was ingested with --data and {alone} without; ingest both with the same "
                "--data, or both without"
            )
        if log.lists is None and log.fingerprint != logs[0].fingerprint:
            raise DataError(
                f"{names[0]} and {name}: were ingested with different data sets; "
                "ingest both with the same one"
            )


def _merge_digests(
    logs: Sequence[LogFile], names: Sequence[str], problems: Problems
) -> tuple[Digests | None, list[str]]:
    """Refuse logs that share interactions, as far as that can be told."""
    given = [log.digests for log in logs if log.digests is not None]
    kinds = {log.description.get("digests") for log in logs}
    if len(given) < len(logs) or len(kinds) > 1:
        unknown = "it is not known whether these logs share interactions"
        return None, [unknown] if len(logs) > 1 else []
    for (i, one), (j, other) in combinations(enumerate(given), 2):
        shared, share = shared_share(one, other)
        size = min(sum(p.n_interactions for p in logs[k].statistics.values()) for k in (i, j))
        problems.found(
            "shared-interactions",
            round(share * size) if shared else 0,
            of=size,
            example=lambda i=i, j=j: f"those of {names[i]} and {names[j]}",  # type: ignore[misc]
            hint=lambda: _SHARED,
        )
    return together(given), []


_SHARED = (
    "ingest their files together, so that repeated rows count once, or apart with --from and "
    "--until; if session ids come again, name what tells them apart as another --session-column"
)


def _write_interactions(out: Path, log: LogFile, merged: _Merger, paths: Sequence[Path]) -> None:
    """Interactions with the context that all logs have."""
    names = set.intersection(*(context_names(path) for path in paths))

    def chunks(split: str) -> Iterator[ClickLog]:
        for number, part in merged.sources(split):
            for chunk in read_sessions(paths[number], part, chunk=INTERACTIONS_AT_ONCE):
                context = {name: chunk.context[name] for name in sorted(names)}
                yield replace(_moved(chunk, merged.union, part, number), context=context)

    write_sessions(
        out,
        log,
        {split: (part.n_interactions, chunks(split)) for split, part in log.statistics.items()},
        merged.union.offsets,
    )


def _moved(chunk: ClickLog, union: Union, part: str, number: int) -> ClickLog:
    """Interactions with the rows of the merged log's documents."""
    rows = np.append(union.documents[part][number], -1)  # -1 stays what it is
    missing = union.top_k - chunk.top_k
    documents = np.pad(rows[chunk.documents], ((0, 0), (0, missing)), constant_values=-1)
    clicks = np.pad(chunk.clicks, ((0, 0), (0, missing)))
    queries = union.queries[part][number][chunk.queries]
    return ClickLog(queries, documents, clicks, {})


def _merge_scores(logs: Sequence[LogFile], union: Union) -> tuple[Floats | None, int]:
    """Scores that all logs agree on, and of how many documents they do not."""
    given = [log.scores for log in logs if log.scores is not None]
    if len(given) < len(logs):
        return None, 0
    n = len(given[0]) if union.lists is None else union.lists.n_documents
    low, high = np.full(n, np.inf), np.full(n, -np.inf)
    for number, scores in enumerate(given):
        rows = slice(None) if union.lists is None else union.documents["train"][number]
        low[rows] = np.minimum(low[rows], scores)
        high[rows] = np.maximum(high[rows], scores)
    varying = int((high - low > 1e-6 * np.maximum(1.0, np.abs(low))).sum())
    return (None if varying else (low + high) / 2), varying


def mix_propensities(merged: _Merger, splits: Collection[str]) -> Floats | None:
    """Those of all logs, mixed by their share of each query's displays, ``[docs, K]``."""
    logs, union = merged.logs, merged.union
    given = [log.propensities for log in logs if log.propensities is not None]
    if len(given) < len(logs):
        return None
    if union.lists is None:  # which rows a split has only the data set knows
        same = all(np.array_equal(given[0], other) for other in given[1:])
        return given[0] if same else None
    total = np.zeros(union.lists.n_queries)
    mixed = np.zeros((union.lists.n_documents, union.top_k))
    for (number, part), split in merged.parts.items():
        if split not in splits:
            continue
        log = logs[number]
        displays = np.zeros(union.lists.n_queries)
        displays[union.queries[part][number]] = log.statistics[part].displays
        chances = log.part_propensities.get(part, given[number])
        rows = union.documents[part][number]
        weights = displays[union.lists.lists.owners[rows]]
        mixed[rows, : chances.shape[1]] += weights[:, None] * chances
        total += displays
    return mixed / np.maximum(total, 1)[union.lists.lists.owners, None]
