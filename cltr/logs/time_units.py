"""Merged logs hold out the future: parts of logs that are split by time, put in order of time.

A log that is split by time has three stretches of time, one for each part. Merging looks at the
stretches of all logs, earliest first, and says anew which are for training, validation and test. So
the test part of yesterday's log is for training once today's log is there.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from cltr.errors import DataError
from cltr.logs.log_file import LogFile
from cltr.logs.splitting import USUAL_TEST_SHARE
from cltr.logs.time_windows import Window, instant
from cltr.types import LOG_PARTS

NewParts = Mapping[tuple[int, str], str]
"""The part of the merged log for each part of each log, by the log's number; none if dropped."""


class Stretch(NamedTuple):
    """A stretch of time in one part of a log."""

    first: float
    last: float
    log: int
    part: str
    interactions: int


def new_parts(logs: Sequence[LogFile], names: Sequence[str], window: Window) -> NewParts:
    """What the parts of logs become; they stay as they are unless all are split by time."""
    same = {(i, part): part for i, log in enumerate(logs) for part in log.statistics}
    by_time = all(log.description.get("split", {}).get("by") == "time" for log in logs)
    if not by_time and not window:
        return same
    stretches = sorted(_stretches(logs, names))
    if window:
        stretches = list(_inside(stretches, names, window))
        kept = {(one.log, one.part) for one in stretches}
        same = {key: part for key, part in same.items() if key in kept}
    if not by_time or (len(logs) == 1 and not window) or _same_cuts(logs):
        return same
    _check_order(stretches, names)
    return dict(_assign(stretches, logs[0]))


def _stretches(logs: Sequence[LogFile], names: Sequence[str]) -> Iterable[Stretch]:
    for number, (log, name) in enumerate(zip(logs, names, strict=True)):
        times = log.description.get("interactions", {}).get("time", {})
        for part, statistics in log.statistics.items():
            if not statistics.n_interactions:
                continue
            if part not in times:
                raise DataError(f"{name}: has no times; ingest it with --time-column")
            first, last = times[part]
            yield Stretch(first, last, number, part, statistics.n_interactions)


def _same_cuts(logs: Sequence[LogFile]) -> bool:
    """Whether all logs were split at the same times, as those of several machines may be."""
    windows = [log.description.get("windows") for log in logs]
    return bool(windows[0]) and all(one == windows[0] for one in windows)


def _inside(
    stretches: Sequence[Stretch], names: Sequence[str], window: Window
) -> Iterable[Stretch]:
    start = instant(window.start, "--from") if window.start else -np.inf
    stop = instant(window.stop, "--until") if window.stop else np.inf
    found = False
    for one in stretches:
        if one.last < start or one.first >= stop:
            continue
        if one.first < start or one.last >= stop:
            raise DataError(
                f"{names[one.log]}: its {one.part} part lies on both sides of the window; a log "
                "can be cut only between its parts; ingest its files again with --from and --until"
            )
        found = True
        yield one
    if not found:
        raise DataError("nothing was logged between --from and --until")


def _check_order(stretches: Sequence[Stretch], names: Sequence[str]) -> None:
    for one, other in pairwise(stretches):
        if one.log != other.log and one.last > other.first:
            raise DataError(
                f"{names[one.log]} and {names[other.log]}: are split by time at different times, "
                "and their times overlap; ingest their files together, or apart with the same "
                "--valid-from and --test-from"
            )


def _assign(stretches: Sequence[Stretch], log: LogFile) -> Iterable[tuple[tuple[int, str], str]]:
    """Cuts between stretches that come nearest to the shares of the first log."""
    split = log.description["split"]
    sizes = np.cumsum([one.interactions for one in stretches])
    tested = split.get("test_share") or (USUAL_TEST_SHARE if "test" in log.statistics else 0.0)
    wanted = 1 - split.get("valid_share", 0.2) - tested, 1 - tested
    n, shares = len(stretches), sizes / sizes[-1]
    if n < 2:
        raise DataError(
            "the logs cover one period only, which cannot be split by time; merge more logs"
        )
    has_test = tested > 0 and n >= 3
    early = int(np.abs(shares[: n - 1 - has_test] - wanted[0]).argmin())
    late = (
        early + 1 + int(np.abs(shares[early + 1 : n - 1] - wanted[1]).argmin()) if has_test else n
    )
    for number, one in enumerate(stretches):
        part = LOG_PARTS[0] if number <= early else LOG_PARTS[1] if number <= late else LOG_PARTS[2]
        yield (one.log, one.part), part
