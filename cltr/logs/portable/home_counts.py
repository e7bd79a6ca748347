"""The counts of a log whose rows are elsewhere: what is wrong with it, and what is known of it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cltr.errors import DataError
from cltr.files.table_files import arrays, text
from cltr.logs.cleaning import report_repeated_rows
from cltr.logs.counting import Places, RowCounts
from cltr.logs.id_coding import Tally
from cltr.logs.time_windows import check_steps, report_times
from cltr.logs.value_checks import Values, check_values
from cltr.types import LOG_PARTS, Integers


class Counts:
    """The counts of a log whose rows are elsewhere."""

    def __init__(self, tally: Tally, numbers: Mapping[str, int | None]) -> None:
        self._tally, self._numbers = tally, numbers

    def _of(self, name: str) -> int:
        return int(self._numbers.get(name) or 0)

    def report(self) -> None:
        """Report what is wrong, in the order in which it is found when rows are read here."""
        self._stand_for_rows()
        self._report_times()
        with self._tally.problems.together():
            self._report_rows()

    def _report_rows(self) -> None:
        tally, of = self._tally, self._of
        low, high = (self._numbers.get(name) for name in ("low", "high"))
        values = {name: of(name) for name in Values._fields}
        values |= {"low": 1 if low is None else low, "high": high or 0}
        check_values(tally, Values(**values))
        if not tally.has_sessions:
            return
        report_repeated_rows(
            tally,
            of("taken") - of("merged"),
            of("surely_repeated"),
            of=of("taken"),
            example=lambda: self._example("repeated-rows"),
        )
        self._report("conflicts", of("conflicts"), of=of("interactions"))
        self._report("repeated-documents", of("agreeing") - of("clean"), of=of("taken"))
        tally.problems.found("gaps", of("gaps"), example=lambda: self._example("gaps"))

    def _report(self, name: str, count: int, *, of: int) -> None:
        problems = self._tally.problems
        problems.found(
            name, count, of=of, example=lambda: self._example(name), hint=self._tally.cause
        )

    def _report_times(self) -> None:
        tally, of = self._tally, self._of
        if "time" not in tally.columns:
            return
        by_time = tally.split.by == "time"
        report_times(tally, of("readable"), of("dated"), needed=bool(tally.window) or by_time)
        if by_time:
            if not tally.split.valid_from:
                check_steps(tally, of("steps"))
            cuts = tally.connection.execute(
                "SELECT name, low FROM result WHERE what = 'cut' AND low IS NOT NULL"
            ).fetchall()
            tally.cuts = dict(sorted(cuts, reverse=True))
        if tally.window or by_time:
            before = of("before_window")
            tally.problems.found("outside-window", before - of("total"), of=before)

    def _stand_for_rows(self) -> None:
        """A table ``raw`` with a row for each kind of click that advice asks for."""
        clicks = [] if not self._of("empty_clicks") else ["NULL"]
        other = self._of("total") - self._of("clicks") - self._of("unclear")
        clicks += ["'0'"] if other else []
        row = "SELECT {}::VARCHAR AS click, '0' AS \"time\""
        rows = " UNION ALL ".join(row.format(one) for one in clicks)
        nothing = "SELECT ''::VARCHAR AS click, '0' AS \"time\" WHERE false"
        self._tally.connection.execute(f"CREATE OR REPLACE TABLE raw AS {rows or nothing}")

    def _example(self, name: str) -> str:
        found = self._tally.row(
            "SELECT query::VARCHAR, substr(name, length($1) + 2) FROM result "
            "WHERE what = 'example' AND starts_with(name, $1 || ':')".replace("$1", text(name))
        )
        return f"query '{found[0][:60]}', session '{found[1][:60]}'" if found else ""

    def count(self, places: Places) -> RowCounts:
        """The counts on some documents."""
        from cltr.kernels import counting as kernel

        tally = self._tally
        counted = RowCounts.nothing(places, tally.top_k)
        cells = arrays(
            tally.connection,
            "SELECT pair, dense_rank() OVER (ORDER BY query) - 1 AS query, part, rank - 1 AS rank, "
            "n, clicks FROM result JOIN names USING (query, document) WHERE what = 'cell'",
        )
        found = places.find(np.asarray(cells["pair"], np.uint64))
        known = found >= 0
        owners = np.where(known, places.owners[np.maximum(found, 0)], -1)
        part = np.where(known, places.splits[owners], len(LOG_PARTS))
        part = np.where(part < 0, cells["part"], part).astype(np.int64)
        used = part < len(LOG_PARTS)
        plane = part[used] if places.shared else np.zeros(int(used.sum()), np.int64)
        at = plane, found[used], np.asarray(cells["rank"], np.int64)[used]
        shown = np.asarray(cells["n"], np.int64)
        np.add.at(counted.impressions, at, shown[used])
        np.add.at(counted.clicks, at, np.asarray(cells["clicks"], np.int64)[used])
        counted.found[kernel.UNKNOWN] = shown[~used].sum()
        counted.found[kernel.TESTED] = shown[part == 2].sum()
        if tally.has_sessions:
            self._count_lists(places, counted, np.asarray(cells["query"], np.int64), owners)
        return counted

    def _count_lists(
        self, places: Places, counted: RowCounts, queries: Integers, owners: Integers
    ) -> None:
        """Displays, and what interactions tell.

        Args:
            places: where documents lie.
            counted: added to.
            queries: number of the query of each cell of the log.
            owners: its number in the lists; -1 where the document is not there.
        """
        from cltr.kernels import counting as kernel

        n = int(queries.max()) + 1 if len(queries) else 0
        least, most = np.full(n, np.iinfo(np.int64).max), np.full(n, -1)
        np.minimum.at(least, queries, owners)
        np.maximum.at(most, queries, owners)
        if ((least < 0) & (most >= 0)).any():
            raise DataError(
                f"{self._tally.problems.where}: shows documents that the data set does not hold "
                "for queries that it holds; counts do not say in how many interactions only such "
                "documents were shown; remove them before counting, or give no --data"
            )
        shown = self._rows("display", "dense_rank() OVER (ORDER BY query) - 1 AS query, part, n")
        query = most[np.asarray(shown["query"], np.int64)]
        part = np.where(query >= 0, places.splits[query], len(LOG_PARTS))
        used = part < len(LOG_PARTS)
        part = np.where(part < 0, shown["part"], 0 if not places.shared else part).astype(np.int64)
        np.add.at(counted.displays, (part[used], query[used]), np.asarray(shown["n"])[used])
        for what, into in (("length", counted.lengths), ("clicks", counted.click_counts)):
            rows = self._rows(what, "rank, n")
            into[np.asarray(rows["rank"], np.int64)] = rows["n"]
        ends = (kernel.ALL_CLICKED, kernel.SHORT, kernel.SHORT_CLICKED)
        for at, name in zip(ends, ("all_clicked", "short", "short_clicked"), strict=True):
            counted.found[at] = self._of(name)

    def _rows(self, what: str, columns: str) -> dict[str, Any]:
        return arrays(
            self._tally.connection, f"SELECT {columns} FROM result WHERE what = {text(what)}"
        )

    def summarise(self, by_query: bool) -> dict[str, Any]:
        """Users and times; periods and repeated lists need the rows, and are left out.

        So do users and times if queries decide the parts of the log.
        """
        tally, summary = self._tally, dict[str, Any]()
        if by_query:
            return summary
        if "user" in tally.columns and tally.has_sessions:
            summary["users"] = self._users()
        if "time" in tally.columns:
            times = self._rows("time", "part, low, high")
            by_part = zip(times["part"], times["low"], times["high"], strict=True)
            summary["time"] = {
                LOG_PARTS[int(part)]: [float(first), float(last)]
                for part, first, last in sorted(by_part)
                if first is not np.ma.masked
            }
        return summary

    def _users(self) -> dict[str, Any]:
        """As :func:`cltr.logs.summaries._users` tells them."""
        tally = self._tally
        sizes = self._rows("users", "rank, n")
        order = np.argsort(sizes["rank"])
        each = np.asarray(sizes["rank"])[order], np.asarray(sizes["n"])[order]
        ends = np.cumsum(each[1])
        total = int(ends[-1]) if len(ends) else 0
        middle = [(total - 1) // 2, total // 2]
        median = each[0][np.searchsorted(ends, middle, side="right")].mean() if total else 0.0
        busiest = tally.connection.execute(
            "SELECT name, n, clicks FROM result WHERE what = 'busy' ORDER BY rank"
        ).fetchall()
        found = {
            "users": self._of("users"),
            "interactions": self._of("user_interactions"),
            "clicks": self._of("user_clicks"),
            "median": float(median),
            "busiest": [
                {"user": user, "interactions": int(n), "clicks": int(c)} for user, n, c in busiest
            ],
        }
        if tally.split.by == "time":
            return found
        names = ("in_both_splits", "in_test_too")
        return found | {name: self._of(name) for name in names}
