"""What a merged log says of itself: files, problems, times and policies of its logs."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from cltr.logs.log_file import COMPUTED, LogFile
from cltr.logs.problems import PROBLEMS
from cltr.logs.time_units import NewParts
from cltr.types import LOG_PARTS


def describe(logs: Sequence[LogFile], parts: NewParts, top_k: int, varying: int) -> dict[str, Any]:
    """The description of merged logs.

    Args:
        logs: that are merged.
        parts: what their parts become.
        top_k: ranks of the merged log.
        varying: documents on whose score logs do not agree.
    """
    described = [log.description for log in logs]
    whole = len(parts) == sum(len(log.statistics) for log in logs)
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
        **_same_data(described),
        "top_k": top_k,
        "sessions": False,
        "single_impressions": any(one.get("single_impressions") for one in described),
        "split": splits[0] if same else {"by": "several"},
        "problems": problems,
        "interactions": _add_summaries(
            [one.get("interactions", {}) for one in described], parts, whole=whole
        ),
        **_add_loggers(described),
        **({"exposure": COMPUTED} if all(one.get("exposure") for one in described) else {}),
    }


def _same_data(described: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """What all logs call their data set."""
    names = {one.get("data", "") for one in described}
    return {"data": names.pop()} if len(names) == 1 else {}


def missing_tests(logs: Sequence[LogFile], names: Sequence[str]) -> list[str]:
    """Which logs have no test part, where others have one."""
    without = [name for log, name in zip(logs, names, strict=True) if "test" not in log.statistics]
    if not without:
        return []
    if len(without) == len(logs):
        return ["the log has no test part: none of the merged logs has one"]
    return [f"the test part leaves out logs that have none: {', '.join(without)}"]


def _add_loggers(described: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Displays of each logging policy, by the parts of the logs, where all tell them apart."""
    if not all(one.get("loggers") for one in described):
        return {}
    merged: dict[str, Counter[str]] = {}
    for one in described:
        for name, counts in one["loggers"].items():
            merged.setdefault(name, Counter()).update(counts)
    return {"loggers": {name: dict(counts) for name, counts in merged.items()}}


def _add_problems(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Counts add up; of how many is not known, since a log without the problem does not say."""
    merged: dict[tuple[str, str], dict[str, Any]] = {}
    for row in rows:
        key = row["problem"], row["action"]
        before = merged.get(key, {"count": 0})
        merged[key] = {**row, "count": row["count"] + before["count"], "of": None}
    return list(merged.values())


def _add_summaries(
    summaries: Sequence[Mapping[str, Any]], parts: NewParts, *, whole: bool
) -> dict[str, Any]:
    """Histograms add up and times extend; users may come on several days, and are left out."""
    merged: dict[str, Any] = {}
    if whole:
        for name in ("lengths", "clicks", "ends"):
            if all(name in one for one in summaries):
                merged[name] = dict(sum((Counter(one[name]) for one in summaries), Counter()))
        if all("periods" in one for one in summaries):
            every = [period for one in summaries for period in one["periods"]]
            merged["periods"] = sorted(every, key=lambda period: (period["from"], period["until"]))
    if all("time" in one for one in summaries):
        merged["time"] = _add_times(summaries, parts)
    return merged


def _add_times(summaries: Sequence[Mapping[str, Any]], parts: NewParts) -> dict[str, list[float]]:
    spans: dict[str, list[float]] = {}
    for (number, part), split in parts.items():
        if part in summaries[number]["time"]:
            spans.setdefault(split, []).extend(summaries[number]["time"][part])
    return {split: [min(spans[split]), max(spans[split])] for split in LOG_PARTS if split in spans}
