"""When interactions began: which are kept, and which part of the log the later ones are.

An interaction is as old as its first row.
"""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from cltr.errors import DataError, UsageError
from cltr.files.table_files import text
from cltr.logs.problems import DROP, KEEP
from cltr.logs.sql_expressions import seconds

if TYPE_CHECKING:
    from cltr.logs.id_coding import Tally


@dataclass(frozen=True)
class Window:
    """The time from which, and the time before which, interactions are kept; as one writes them."""

    start: str = ""
    stop: str = ""

    def __bool__(self) -> bool:
        return bool(self.start or self.stop)


def place_in_time(tally: "Tally") -> None:
    """Leave out interactions outside of the window, and split by time if that was asked for."""
    if "time" not in tally.columns:
        if tally.window:
            raise UsageError("--from and --until need times; name their column with --time-column")
        return
    needed = bool(tally.window) or tally.split.by == "time"
    _check_times(tally, needed=needed)
    if not needed:
        return
    whose = "key" if tally.has_sessions else "rowid"
    tally.connection.execute(
        f'CREATE OR REPLACE TABLE times AS SELECT {whose} AS whose, min("time") AS began, '
        "max(part) AS part FROM coded GROUP BY 1"
    )
    if tally.window:
        _cut_window(tally)
    part = _part_by_time(tally) if tally.split.by == "time" else "coded.part"
    before = tally.row("SELECT count(*) FROM coded")[0]
    tally.run(
        "splitting",
        f"CREATE OR REPLACE TABLE coded AS SELECT coded.* REPLACE ({part} AS part) "
        f"FROM coded JOIN times ON times.whose = coded.{whose}",
    )
    after = tally.row("SELECT count(*) FROM coded")[0]
    tally.problems.found("outside-window", before - after, of=before)


def _check_times(tally: "Tally", *, needed: bool) -> None:
    readable, total = tally.row('SELECT count("time"), count(*) FROM coded WHERE pair <> 0')
    if report_times(tally, readable, total, needed=needed) == DROP and readable < total:
        tally.connection.execute(
            'CREATE OR REPLACE TABLE coded AS SELECT * FROM coded WHERE "time" IS NOT NULL'
        )


def report_times(tally: "Tally", readable: int, total: int, *, needed: bool) -> str:
    """Count times that cannot be read; none at all matter only where they are needed.

    Returns:
        What to do about them.
    """
    if not readable and not needed:
        return KEEP
    if not readable:
        raise DataError(f"{tally.problems.where}: no time can be read; {_EXPECTED}")
    return tally.problems.found(
        "unreadable-times",
        total - readable,
        of=total,
        example=lambda: _unreadable(tally),
        hint=lambda: _EXPECTED,
    )


_EXPECTED = (
    "expected ISO 8601 (2024-01-31T10:00:00+01:00), dates (2024-01-31 or 20240131), or numbers of "
    "seconds, milliseconds, microseconds or nanoseconds since 1970"
)


def _unreadable(tally: "Tally") -> str:
    found = tally.row(
        f'SELECT "time"::VARCHAR FROM raw WHERE ({tally.time}) IS NULL '
        'ORDER BY "time" IS NULL LIMIT 1'
    )
    if not found:
        return ""
    return "one that is missing" if found[0] is None else repr(found[0][:40])


def _cut_window(tally: "Tally") -> None:
    bounds = []
    dates = tally.times_are_dates
    if tally.window.start:
        bounds.append(f"began >= {instant(tally.window.start, '--from', dates=dates)!r}")
    if tally.window.stop:
        bounds.append(f"began < {instant(tally.window.stop, '--until', dates=dates)!r}")
    tally.connection.execute(f"DELETE FROM times WHERE ({' AND '.join(bounds)}) IS NOT true")
    check_window(tally, tally.row("SELECT count(*) FROM times")[0])


def check_window(tally: "Tally", kept: int) -> None:
    """Refuse a window without interactions."""
    if not kept:
        raise DataError(f"{tally.problems.where}: nothing was logged between --from and --until")


def instant(word: str, flag: str, *, dates: bool = False) -> float:
    """A time as one types it, in seconds since 1970 or as the number that it is.

    Args:
        word: as it was typed.
        flag: the option, for errors.
        dates: whether numbers are dates such as 20240131.
    """
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET TimeZone = 'UTC'")
        found = connection.execute(
            f"SELECT {seconds(text(word), 'VARCHAR', dates=dates)}"
        ).fetchall()
    if found[0][0] is None and dates:
        return instant(word, flag)
    if found[0][0] is None:
        raise UsageError(f"{flag} {word}: is not a time; {_EXPECTED}")
    return float(found[0][0])


def _part_by_time(tally: "Tally") -> str:
    """SQL of the part: the last interactions are for testing, those before them for validation."""
    valid, test = _named_cuts(tally) if tally.split.valid_from else _cuts(tally)
    tally.cuts = {"valid_from": valid} | ({} if test is None else {"test_from": test})
    late = "false" if test is None else f"began >= {test!r}"
    return (
        f"CASE WHEN coded.part = 2 OR {late} THEN 2 WHEN began >= {valid!r} THEN 1 "
        "ELSE 0 END::UTINYINT"
    )


def _named_cuts(tally: "Tally") -> tuple[float, float | None]:
    dates = tally.times_are_dates
    valid = instant(tally.split.valid_from, "--valid-from", dates=dates)
    if not tally.split.test_from:
        return valid, None
    test = instant(tally.split.test_from, "--test-from", dates=dates)
    if test <= valid:
        raise UsageError("--test-from must be later than --valid-from")
    return valid, test


def _cuts(tally: "Tally") -> tuple[float, float | None]:
    """The first times of validation and test, such that each part has about its share.

    Where times are coarse (days), each part gets at least one of them if there are enough.
    """
    split = tally.split
    tally.connection.execute(
        "CREATE OR REPLACE TABLE steps AS SELECT began, row_number() OVER by_time - 1 AS number, "
        "sum(n) OVER by_time / sum(n) OVER () AS share FROM (SELECT began, count(*) AS n "
        "FROM times WHERE part <> 2 AND began IS NOT NULL GROUP BY began) "
        "WINDOW by_time AS (ORDER BY began)"
    )
    shares = (1 - split.share - split.tested - ROUND, 1 - split.tested - ROUND)
    steps, early, late = tally.row(
        "SELECT count(*), "
        + ", ".join(f"min(number) FILTER (share >= {share!r})" for share in shares)
        + " FROM steps"
    )
    check_steps(tally, steps)
    tested = bool(split.tested) and steps >= 3
    early = min(early, steps - 2 - tested)
    numbers = [early + 1] + ([max(early + 2, min(late + 1, steps - 1))] if tested else [])
    began = [tally.row(f"SELECT began FROM steps WHERE number = {n}")[0] for n in numbers]
    return float(began[0]), float(began[1]) if tested else None


def check_steps(tally: "Tally", steps: int) -> None:
    """Refuse to split by time where there are too few different times."""
    if steps < 2 or (steps < 3 and tally.split.test_share):
        raise DataError(
            f"{tally.problems.where}: there {'is' if steps == 1 else 'are'} only {steps} different "
            f"time{'s' * (steps != 1)} in the log, too few to split by time; use another --split-by"
        )


ROUND = 1e-12
