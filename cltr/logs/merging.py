"""Log files of several days or machines into one: counts add up, by query and document."""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cltr.errors import DataError, UsageError
from cltr.files.storage import keep_inputs
from cltr.logs.log_file import LogFile, open_log, write_log
from cltr.logs.log_lists import lists_of_log
from cltr.logs.log_report import report
from cltr.logs.problems import PROBLEMS
from cltr.types import LOG_PARTS, ClickStatistics, Dataset, Floats, Integers


@dataclass(frozen=True)
class _Union:
    """The documents of all logs: where those of each log lie among them."""

    lists: Dataset | None
    """None if all logs lie on one data set."""
    queries: dict[str, list[Integers]]
    """By split and log: the place of each query."""
    documents: dict[str, list[Integers]]
    offsets: dict[str, Integers]
    top_k: int


def merge_files(paths: Sequence[Path], out: Path) -> dict[str, Any]:
    """Add up log files into one, part by part; returns a report.

    Args:
        paths: logs from ``cltr ingest``, all standing alone or all on one data set.
        out: the log file to write; it holds counts, not interactions.
    """
    began = time.perf_counter()
    if len({path.resolve() for path in paths}) < len(paths):
        raise UsageError("a log file is named twice; its clicks would count twice")
    keep_inputs(out, paths)
    log = merge_logs([open_log(path) for path in paths], names=[str(path) for path in paths])
    write_log(out, log)
    return report(log, out, seconds=time.perf_counter() - began)


def merge_logs(logs: Sequence[LogFile], *, names: Sequence[str] = ()) -> LogFile:
    """One log with the counts of all.

    Documents are matched by query and document id. Scores are kept if all logs have them and
    agree; propensities become harmonic means over impressions, as if all had been ingested at once.
    There is a test part if any log has one; the description says which logs have none.

    Args:
        logs: all of one kind.
        names: what to call them in errors.
    """
    names = names or [f"log {number}" for number in range(1, len(logs) + 1)]
    for log, name in zip(logs, names, strict=True):
        if "format" not in log.description:
            raise DataError(f"{name}: is simulated; only ingested logs are merged")
        if (log.lists is None) != (logs[0].lists is None):
            raise DataError(
                f"{names[0]} and {name}: one stands alone and one lies on a data set; ingest both "
                "with --data, or both without"
            )
        if log.lists is None and log.fingerprint != logs[0].fingerprint:
            raise DataError(f"{names[0]} and {name}: lie on different data sets")
    union = _unite(logs)
    scores, varying = _merge_scores(logs, union)
    return LogFile(
        {split: _add(logs, union, split) for split in union.offsets},
        scores,
        _describe(logs, union.top_k, varying) | {"notes": _notes(logs, names)},
        logs[0].fingerprint if union.lists is None else union.lists.fingerprint,
        union.lists,
        _merge_propensities(logs, union),
    )


def _unite(logs: Sequence[LogFile]) -> _Union:
    top_k = max(part.top_k for log in logs for part in log.statistics.values())
    parts = {split: part for log in reversed(logs) for split, part in log.statistics.items()}
    splits = [split for split in LOG_PARTS if split in parts]
    alone = [log.lists for log in logs if log.lists is not None]
    if not alone:
        return _Union(
            None,
            {s: [np.arange(len(parts[s].displays))] * len(logs) for s in splits},
            {s: [np.arange(len(parts[s].impressions))] * len(logs) for s in splits},
            {s: parts[s].offsets for s in splits},
            top_k,
        )
    query_ids, queries = _numbered([lists.query_ids for lists in alone])
    names, codes = _numbered([lists.document_ids for lists in alone])
    keys = [
        query[lists.lists.owners] * len(names) + code
        for query, code, lists in zip(queries, codes, alone, strict=True)
    ]
    pairs, documents = _numbered(keys)
    owners = pairs // len(names)
    lengths = np.bincount(owners, minlength=len(query_ids))
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64)
    united = lists_of_log(
        offsets,
        query_ids,
        names[pairs % len(names)],
        name=alone[0].name,
        tested="test" in splits,
    )
    return _Union(
        united,
        dict.fromkeys(splits, queries),
        dict.fromkeys(splits, documents),
        dict.fromkeys(splits, offsets),
        top_k,
    )


def _numbered(values: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[Integers]]:
    """All different values in order, and the place of each value among them."""
    found, places = np.unique(np.concatenate(values), return_inverse=True)
    cuts = np.cumsum([len(part) for part in values])[:-1]
    return found, np.split(places.astype(np.int64), cuts)


def _add(logs: Sequence[LogFile], union: _Union, split: str) -> ClickStatistics:
    offsets = union.offsets[split]
    impressions = np.zeros((int(offsets[-1]), union.top_k), np.int64)
    clicks, displays = np.zeros_like(impressions), np.zeros(len(offsets) - 1, np.int64)
    for number, log in enumerate(logs):
        if split not in log.statistics:
            continue
        part, rows = log.statistics[split], union.documents[split][number]
        impressions[rows, : part.top_k] += part.impressions
        clicks[rows, : part.top_k] += part.clicks
        displays[union.queries[split][number]] += part.displays
    return ClickStatistics(impressions, clicks, displays, offsets)


def _merge_scores(logs: Sequence[LogFile], union: _Union) -> tuple[Floats | None, int]:
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


def _merge_propensities(logs: Sequence[LogFile], union: _Union) -> Floats | None:
    """Harmonic means over impressions, ``[docs, K]``; 0 where nothing was logged."""
    given = [log.propensities for log in logs if log.propensities is not None]
    if len(given) < len(logs):
        return None
    if union.lists is None:  # which rows a split has only the data set knows
        same = all(np.array_equal(given[0], other) for other in given[1:])
        return given[0] if same else None
    shown = np.zeros((union.lists.n_documents, union.top_k))
    inverse = np.zeros_like(shown)
    for number, (log, chances) in enumerate(zip(logs, given, strict=True)):
        rows = union.documents["train"][number]
        counts = np.sum([part.impressions for part in log.statistics.values()], axis=0)
        counts = np.where(chances > 0, counts, 0)
        shown[rows, : counts.shape[1]] += counts
        inverse[rows, : counts.shape[1]] += counts / np.where(chances > 0, chances, 1.0)
    return np.divide(shown, inverse, out=np.zeros_like(shown), where=inverse > 0)


def _describe(logs: Sequence[LogFile], top_k: int, varying: int) -> dict[str, Any]:
    described = [log.description for log in logs]
    problems = _add_problems([row for one in described for row in one.get("problems", ())])
    if varying:
        known = PROBLEMS["varying-scores"]
        row = {"problem": "varying-scores", "count": varying, "unit": known.unit}
        problems.append(row | {"action": "keep", "what": known.what})
    splits = [one.get("split") for one in described]
    same = all(split == splits[0] for split in splits)
    return {
        "format": " and ".join(dict.fromkeys(one["format"] for one in described)),
        "files": [name for one in described for name in one.get("files", ())],
        "top_k": top_k,
        "n_interactions": sum(log.statistics["train"].n_interactions for log in logs),
        "sessions": False,
        "single_impressions": any(one.get("single_impressions") for one in described),
        "split": splits[0] if same else {"by": "several"},
        "problems": problems,
        "interactions": _add_summaries([one.get("interactions", {}) for one in described]),
    }


def _notes(logs: Sequence[LogFile], names: Sequence[str]) -> list[str]:
    """Which logs have no test part, where others have one."""
    without = [name for log, name in zip(logs, names, strict=True) if "test" not in log.statistics]
    if not without:
        return []
    if len(without) == len(logs):
        return ["the log has no test part: none of the merged logs has one"]
    return [f"the test part leaves out logs that have none: {', '.join(without)}"]


def _add_problems(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts add up; of how many is not known, since a log without the problem does not say."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["problem"], row["action"]
        before = merged.get(key, {"count": 0})
        merged[key] = {**row, "count": row["count"] + before["count"], "of": None}
    return list(merged.values())


def _add_summaries(summaries: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Histograms add up and times extend; users may come on several days, and are left out."""
    merged: dict[str, Any] = {}
    for name in ("lengths", "clicks", "ends"):
        if all(name in one for one in summaries):
            merged[name] = dict(sum((Counter(one[name]) for one in summaries), Counter()))
    if all("periods" in one for one in summaries):
        every = [period for one in summaries for period in one["periods"]]
        merged["periods"] = sorted(every, key=lambda period: (period["from"], period["until"]))
    if all("time" in one for one in summaries):
        spans = [(split, span) for one in summaries for split, span in one["time"].items()]
        merged["time"] = {
            split: [
                min(first for name, (first, _) in spans if name == split),
                max(last for name, (_, last) in spans if name == split),
            ]
            for split in dict.fromkeys(name for name, _ in spans)
        }
    return merged
