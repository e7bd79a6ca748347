"""The statements that clean, check, split and count a log, one after the other, as duckdb's SQL.

Each is a query on those before it. They use no hash, no order of rows and no function that other
engines lack, so that :mod:`cltr.logs.portable.dialects` can write them for other engines. What is
decided by numbers (which problems are refused) is decided at home, by the same code as always.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from cltr.errors import UsageError
from cltr.logs.portable.counted_table import RESULT, result_of
from cltr.logs.problems import DROP, PROBLEMS
from cltr.logs.splitting import Split
from cltr.logs.sql_expressions import (
    CLICKED,
    UNKNOWN,
    are_dates,
    click_state,
    rank_code,
    seconds,
    whole_number,
)
from cltr.logs.time_windows import ROUND, Window, instant

LIST = "query, session"
"""What tells interactions apart."""
_IDS = ("query", "document", "session", "user", "score")


@dataclass(frozen=True)
class Plan:
    """What is to be counted, and how."""

    source: str
    """A query for the rows of the log, with the columns below."""
    columns: Mapping[str, str]
    """Their types, as duckdb names them."""
    split: Split = field(default_factory=Split)
    window: Window = field(default_factory=Window)
    actions: Mapping[str, str] = field(default_factory=dict)
    top_k: int = 0
    dates: bool = False
    """Whether times are numbers such as 20240131."""
    notes: tuple[str, ...] = ()
    """What to say of the split."""

    @property
    def has_sessions(self) -> bool:
        return "session" in self.columns

    @property
    def timed(self) -> bool:
        return "time" in self.columns

    def drops(self, problem: str) -> bool:
        return self.actions.get(problem, PROBLEMS[problem].actions[0]) == DROP


def statements(plan: Plan) -> dict[str, str]:
    """Queries by name, in order; the last, ``RESULT``, is what is brought home."""
    if not plan.timed and plan.window:
        raise UsageError("--from and --until need times; name their column with --time-column")
    made = {"raw": plan.source, "coded": _coded(plan), "depth": _depth(plan)}
    made |= _in_time(plan)
    made |= {"taken": _taken(plan)} | (_cleaned(plan) if plan.has_sessions else _single(plan))
    made[RESULT] = result_of(plan)
    return made


def dates_question(columns: Mapping[str, str]) -> str:
    """A query on ``raw`` whether times are numbers such as 20240131."""
    return are_dates('"time"', columns["time"])


def _coded(plan: Plan) -> str:
    """One row for each row of the log, every column of a type that is known."""
    chosen = {name: f'"{name}"' for name in _IDS if name in plan.columns}
    if "score" in chosen:
        score = 'try_cast("score"::VARCHAR AS DOUBLE)'
        chosen["score"] = f"CASE WHEN isfinite({score}) THEN {score} END"
    chosen |= {
        "named": "query IS NOT NULL AND document IS NOT NULL",
        "kept": "query IS NOT NULL AND session IS NOT NULL" if plan.has_sessions else "true",
        "rank": rank_code(whole_number('"position"', plan.columns["position"])),
        "empty": "CASE WHEN click IS NULL OR trim(click::VARCHAR) = '' THEN 1 ELSE 0 END",
        "state": click_state("click", plan.columns["click"]),
        "part": plan.split.column(plan.columns),
    }
    if plan.timed:
        chosen["time"] = seconds('"time"', plan.columns["time"], dates=plan.dates)
    listed = ", ".join(f'{sql} AS "{name}"' for name, sql in chosen.items())
    clicked = f"CASE WHEN {CLICKED} THEN 1 ELSE 0 END AS clicked"
    rows = f"SELECT {listed} FROM {plan.split.drawn(plan.columns)}"
    return f"SELECT *, {clicked} FROM ({rows}) AS coded_rows"


def _depth(plan: Plan) -> str:
    """Ranks that are kept: as many as there are, or as one asked for."""
    found = "coalesce(max(rank), 1)"
    asked = f"least({plan.top_k}, {found})" if plan.top_k else found
    return f"SELECT greatest({asked}, 1) AS top_k, max(rank) AS last_rank FROM coded"


def _in_time(plan: Plan) -> dict[str, str]:
    """Leave out interactions outside of the window, and split by time if that was asked for."""
    rows = "coded"
    if plan.timed and plan.drops("unreadable-times"):
        rows = '(SELECT * FROM coded WHERE "time" IS NOT NULL) AS readable'
    if not plan.window and plan.split.by != "time":
        return {"placed": f"SELECT * FROM {rows}"}
    began = '"time"'
    if plan.has_sessions:  # rows without a session are one interaction, as everywhere
        whose = "CASE WHEN kept THEN {} END"
        key = f"{whose.format('query')}, {whose.format('session')}"
        began = f'min("time") OVER (PARTITION BY {key})'
    made = {"aged": f"SELECT *, {began} AS began FROM {rows}"}
    made["inside"] = f"SELECT * FROM aged{_window(plan)}"
    if plan.split.by != "time":
        return made | {"placed": "SELECT * FROM inside"}
    made |= _cuts(plan)
    test = "coalesce(began >= test_from, false)"
    valid = "coalesce(began >= valid_from, false)"
    part = f"CASE WHEN {test} THEN 2 WHEN {valid} THEN 1 ELSE 0 END"
    others = [*(n for n in _IDS if n in plan.columns), "named", "kept", "rank", "state", "clicked"]
    others.append("empty")
    listed = ", ".join(f'"{name}"' for name in [*others, "time"])
    made["placed"] = f"SELECT {listed}, {part} AS part FROM inside CROSS JOIN cuts"
    return made


def _window(plan: Plan) -> str:
    ends = (plan.window.start, "--from", ">="), (plan.window.stop, "--until", "<")
    bounds = [
        f"began {sign} {instant(word, flag, dates=plan.dates)!r}"
        for word, flag, sign in ends
        if word
    ]
    return f" WHERE {' AND '.join(bounds)}" if bounds else ""


def _cuts(plan: Plan) -> dict[str, str]:
    """The first times of validation and test; see :mod:`cltr.logs.time_windows`."""
    split = plan.split
    if split.valid_from:
        return {"cuts": _named_cuts(plan)}
    whole = f"GROUP BY {LIST}" if plan.has_sessions else ""
    lost = "SELECT min(began) AS began FROM inside WHERE NOT kept"
    each = f"SELECT min(began) AS began FROM inside WHERE kept {whole}"
    begun = f"{each} UNION ALL {lost}" if whole else "SELECT began FROM inside"
    shares = (1 - split.share - split.tested - ROUND, 1 - split.tested - ROUND)
    early, late = (f"min(CASE WHEN share >= {s!r} THEN number END)" for s in shares)
    tested = f"steps >= 3 AND {'true' if split.tested else 'false'}"
    first = f"least(early, steps - 2 - CASE WHEN {tested} THEN 1 ELSE 0 END)"
    return {
        "moments": f"SELECT began, count(*) AS n FROM ({begun}) AS begun "
        "WHERE began IS NOT NULL GROUP BY began",
        "steps": "SELECT began, row_number() OVER by_time - 1 AS number, "
        "CAST(sum(n) OVER by_time AS DOUBLE) / sum(n) OVER () AS share FROM moments".replace(
            "by_time", "(ORDER BY began NULLS FIRST)"
        ),
        "ends": f"SELECT count(*) AS steps, {early} AS early, {late} AS late FROM steps",
        "numbers": f"SELECT steps, {first} + 1 AS valid_number, CASE WHEN {tested} THEN "
        f"greatest({first} + 2, least(late + 1, steps - 1)) ELSE -1 END AS test_number FROM ends",
        "cuts": "SELECT max(CASE WHEN number = valid_number THEN began END) AS valid_from, "
        "max(CASE WHEN number = test_number THEN began END) AS test_from "
        "FROM steps CROSS JOIN numbers",
    }


def _named_cuts(plan: Plan) -> str:
    valid = instant(plan.split.valid_from, "--valid-from", dates=plan.dates)
    if not plan.split.test_from:
        return f"SELECT {valid!r} AS valid_from, CAST(NULL AS DOUBLE) AS test_from"
    test = instant(plan.split.test_from, "--test-from", dates=plan.dates)
    if test <= valid:
        raise UsageError("--test-from must be later than --valid-from")
    return f"SELECT {valid!r} AS valid_from, {test!r} AS test_from"


def _taken(plan: Plan) -> str:
    """The rows that count."""
    clear = f" AND state <> {UNKNOWN}" if plan.drops("unknown-clicks") else ""
    return (
        f"SELECT placed.* FROM placed CROSS JOIN depth "
        f"WHERE named AND kept AND rank BETWEEN 1 AND top_k{clear}"
    )


def _single(plan: Plan) -> dict[str, str]:
    """Single impressions: every row counts by itself."""
    del plan
    return {"counted": "SELECT * FROM taken"}


def _cleaned(plan: Plan) -> dict[str, str]:
    """The rules of :func:`cltr.logs.cleaning.clean_rows`, without looking at clicks."""
    more = "".join(
        f', min("{name}") AS "{name}"' for name in ("score", "time") if name in plan.columns
    )
    kept = "".join(f', "{name}"' for name in ("score", "time") if name in plan.columns)
    row = f"{LIST}, document, rank, clicked"
    whole = f"OVER (PARTITION BY {LIST})"
    gapless = " WHERE length = deepest" if plan.drops("gaps") else ""
    return {
        "merged": f"SELECT {row}, max(part) AS part, count(*) AS copies{more} FROM taken "
        f"GROUP BY {row}",
        "crowded": f"SELECT *, count(*) OVER (PARTITION BY {LIST}, rank) AS crowd, "
        f"min(rank) OVER (PARTITION BY {LIST}, document) AS first_rank, "
        f"count(*) OVER (PARTITION BY {LIST}, document) AS times_shown FROM merged",
        "judged": f"SELECT *, max(crowd) {whole} AS most, max(part) {whole} AS whole_part "
        "FROM crowded",
        "clean": f"SELECT {row}, whole_part AS part{kept}, count(*) {whole} AS length, "
        f"max(rank) {whole} AS deepest FROM judged WHERE most = 1 AND rank = first_rank",
        "counted": f"SELECT * FROM clean{gapless}",
        "lists": f"SELECT {LIST}, max(part) AS part, count(*) AS length, max(rank) AS deepest, "
        "sum(clicked) AS clicks, max(CASE WHEN clicked = 1 THEN rank ELSE 0 END) AS last_click "
        f"FROM counted GROUP BY {LIST}",
    }
