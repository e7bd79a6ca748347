"""Untidy logs with the options that read them, counted twice and compared to the last count."""

import json

from cltr.errors import CltrError
from cltr.logs.ingest import IngestOptions, LogSource, ingest_log
from cltr.logs.log_file import STATISTICS, open_log
from cltr.logs.problems import parse_actions
from cltr.logs.readers import LongReader
from cltr.logs.splitting import Split
from cltr.logs.time_windows import Window
from tests import untidy_logs as untidy
from tests.plain_logs import write_parquet

MADE = untidy.interactions()
ALL = ("conflicts=drop", "repeated-rows=drop", "repeated-documents=drop", "missing-values=drop")
BY_ROWS = ("periods", "repeats")
"""What needs rows at home."""


def mixed():
    """Every problem at once: users, times, scores; rows missing, repeated and contradicting."""
    more = {
        "user": lambda one, rank: one.number % 37,
        "time": lambda one, rank: one.seconds + rank % 2 * 0.25 if one.number % 90 else None,
        "score": lambda one, rank: float(int(one.documents[rank - 1].split("-")[1])),
    }
    table = untidy.rows(MADE, **more)
    table += table[500:560]  # delivered twice
    table += [row | {"time": row["time"] + 9 if row["time"] else None} for row in table[700:730]]
    table += [row | {"doc": "other"} for row in table[100:103]]  # two documents at one position
    table += [row | {"click": 1 - row["click"]} for row in table[150:152]]
    table += [row | {"position": 40 + i} for i, row in enumerate(table[200:230])]
    for i, row in enumerate(table):
        row["position"] = {7: None, 8: "2.5", 9: 0, 17: -3}.get(i, row["position"])
        row["click"] = {21: 2, 22: "yes", 23: "maybe", 24: None}.get(i, row["click"])
        row["query"] = {31: None}.get(i, row["query"])
        row["session"] = {32: None, 33: None}.get(i, row["session"])
        row["doc"] = {34: None}.get(i, row["doc"])
        for name in ("position", "click"):
            row[name] = None if row[name] is None else str(row[name])
    table[7]["click"] = "1"
    table[20]["position"] = " 3.0"
    return table


def parted():
    """The same with the column of an exported log; two interactions have rows of two parts."""
    table = mixed()
    for row in table:
        number = int(row["session"][1:]) if row["session"] else 0
        row["part"] = ("train", "valid", "train", "test")[number % 4]
    table[3]["part"], table[44]["part"] = "valid", "test"
    return table


def with_commas():
    """Fractions of seconds behind a comma."""
    day = [f"2024-01-{day:02d}T10:00:00" for day in range(1, 29)]
    return untidy.rows(MADE, time=lambda one, rank: f"{day[one.number % 28]},{rank}5+02:00")


def two_users():
    """Rows of one interaction name several users, or none."""
    table = untidy.rows(MADE, user=lambda one, rank: f"u{one.number % 37}")
    for i in range(0, len(table), 7):
        table[i]["user"] = f"u{i % 11}" if i % 2 else None
    return table


def strange_parts(word):
    """One row names another part."""
    table = parted()
    table[50]["part"] = word
    return table


WINDOW = Window("2023-11-16", "2023-11-23")
TIMED = {"time_column": "time", "user_column": "user", "score_column": "score"}
DROP = ("all=keep", "all=drop")
KEEP = (*DROP, "gaps=keep", "unknown-clicks=keep", "unreadable-times=keep")
CASES = {
    "tidy": (untidy.tidy(MADE), {}, {}),
    "paged": (untidy.paged(MADE), {"page_column": "page"}, {}),
    "grid": (untidy.in_a_grid(MADE), {"grid_columns": "row,col"}, {}),
    "restarted": (untidy.restarted(MADE), {"session_column": ("session", "day")}, {}),
    "twice": (untidy.delivered_twice(MADE, time=True), {"time_column": "time"}, {}),
    "days": (untidy.days(MADE), {"time_column": "when"}, {"split": Split(by="time")}),
    "empty clicks": (untidy.null_clicks(MADE), {}, {"on": ["unknown-clicks=keep"]}),
    "single": (untidy.tidy(MADE), {"session_column": "none"}, {}),
    "mixed": (mixed(), TIMED, {"on": DROP}),
    "kept": (mixed(), TIMED, {"on": KEEP, "split": Split(by="user", seed=3), "top_k": 6}),
    "window": (mixed(), TIMED, {"on": KEEP, "split": Split(by="time"), "window": WINDOW}),
    "commas": (with_commas(), {"time_column": "time"}, {"split": Split(by="time")}),
    "empty window": (untidy.days(MADE), {"time_column": "when"}, {"window": Window("2030-01-01")}),
    "nothing": (
        untidy.rows(MADE, place=lambda one, rank: 0),
        {"position_column": "place"},
        {"on": DROP},
    ),
    "two users": (two_users(), {"user_column": "user"}, {"split": Split(by="user")}),
    "parts": (parted(), TIMED, {"on": DROP, "split": Split(seed=4)}),
    "parts by name": (parted(), TIMED, {"on": DROP, "split": Split(by="part")}),
    "parts in a window": (parted(), TIMED, {"on": KEEP, "window": WINDOW}),
    "parts unused": (parted(), TIMED, {"on": DROP, "split": Split(share=0.3)}),
    "parts with a role": (parted(), {"user_column": "part"}, {"on": DROP}),
    "no parts": (strange_parts("dev"), TIMED, {"on": DROP}),
    "parts missing": (strange_parts(None), TIMED, {"on": DROP}),
    "no parts by name": (strange_parts("dev"), TIMED, {"on": DROP, "split": Split(by="part")}),
    "pages as they are": (untidy.paged(MADE), {}, {}),
    "events as rows": (untidy.as_events_in_rows(MADE), {}, {}),
    "only clicks": (untidy.only_clicks(MADE), {}, {}),
    "empty": (untidy.null_clicks(MADE), {}, {}),
    "unclear": (mixed(), TIMED, {}),
}
"""Rows, columns and options of each log."""
REFUSED = (
    "empty window",
    "nothing",
    "no parts by name",
    "pages as they are",
    "events as rows",
    "only clicks",
    "empty",
    "unclear",
)


def written(folder, name):
    """A case as a file, with its reader and options."""
    table, columns, more = CASES[name]
    options = IngestOptions(
        actions=parse_actions(more.get("on", ())),
        split=more.get("split", Split()),
        window=more.get("window", Window()),
        top_k=more.get("top_k", 0),
    )
    return write_parquet(folder / "log.parquet", table), LongReader(**columns), options


def outcome(source, out, options):
    """All that is known of a log, or the line that refuses it."""
    try:
        report = ingest_log(source, out, options=options)
    except CltrError as error:
        return str(error)
    log = open_log(out)
    counts = {
        (part, name): getattr(statistics, name).tolist()
        for part, statistics in log.statistics.items()
        for name in STATISTICS
    }
    interactions = log.description["interactions"]
    kept = {name: value for name, value in interactions.items() if name not in BY_ROWS}
    scores = None if log.scores is None else log.scores.tolist()
    same = {name: report[name] for name in ("problems", "notes", "split", "top_k", "clicks")}
    windows = log.description["windows"]
    return json.loads(json.dumps([log.fingerprint, scores, kept, same, windows])), counts


def expected(folder, name):
    """What duckdb makes of a case, reading all rows."""
    path, reader, options = written(folder, name)
    return outcome(LogSource([path], reader), folder / "log.h5", options)


def without_example(line):
    """A refusal without the place that it names, which may be another one."""
    start, such, rest = line.partition(", such as ")
    return start + rest[rest.index(")") :] if such else line
