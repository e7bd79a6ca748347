"""Logs as tables: what was simulated or ingested, and what was found wrong with it."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from cltr.checks.findings import Finding
from cltr.checks.log_check import LogVerdicts
from cltr.logs.problems import DONE
from cltr.looks import PARTS_IN_WORDS

BARS = "against the highest"
"""What the bars beside click rates show."""


def ingested_tables(report: Mapping[str, Any]) -> Iterator[Table | Text]:
    """What the log holds, by rank, and what was wrong with it."""
    clicks = _listed(f"{count:,}" for count in report["clicks"].values())
    lists = (
        f", {report['documents']:,} documents of {report['queries']:,} queries"
        if report["queries"] is not None
        else ""
    )
    yield Text(
        f"{_interactions(report['n_interactions'])} with {clicks} clicks{lists}, "
        f"in {report['seconds']:.1f} s: {report['log']}"
    )
    yield rank_table(report["impressions_by_rank"], report["click_rate"])
    yield problem_table(report["problems"])
    yield Text(_production_known(report))
    for note in report["notes"]:
        yield Text(f"note: {note}")
    yield Text(f"next: cltr check {report['log']}", "dim")


def log_tables(summary: Mapping[str, Any]) -> Iterator[Table | Text]:
    """What a log file holds, by rank, and what was wrong with it when it was ingested."""
    clicks = _listed(f"{count:,}" for count in summary["clicks"].values())
    kind = "simulated log" if summary["simulated"] else "log"
    yield Text(
        f"{kind} {summary['log']}: {_interactions(summary['n_interactions'])} with {clicks} clicks"
    )
    yield rank_table(summary["impressions_by_rank"], summary["click_rate"])
    if not summary["simulated"]:
        yield problem_table(summary["problems"])


def _interactions(counts: Mapping[str, int]) -> str:
    """How many interactions each part of a log has, in words."""
    told = _listed(f"{count:,} {PARTS_IN_WORDS[part]}" for part, count in counts.items())
    return f"{told} interactions"


def _listed(words: Iterable[str]) -> str:
    """``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def _production_known(report: Mapping[str, Any]) -> str:
    """What the log says of the ranker that served it."""
    if report["scores"]:
        return "The log has production's score of every document."
    if report["propensities"]:
        return "The log has production's propensities, and no production scores."
    return "The log has no production scores (--production, --score-column)."


def rank_table(impressions: list[int], rates: list[float]) -> Table:
    """Impressions and clicks per impression by rank, with bars."""
    table = Table("rank")
    table.add_column("impressions", justify="right")
    table.add_column("clicks per impression", justify="right")
    table.add_column(BARS)
    highest = max(rates, default=0.0) or 1.0
    for rank, (shown, rate) in enumerate(zip(impressions, rates, strict=True), start=1):
        table.add_row(str(rank), f"{shown:,}", f"{rate:.4f}", "█" * round(30 * rate / highest))
    return table


def problem_table(problems: list[dict[str, Any]]) -> Table | Text:
    """What was wrong, and what was done about it."""
    if not problems:
        return Text("no problems found")
    table = Table("problem")
    table.add_column("found", justify="right")
    table.add_column("of", justify="left")
    table.add_column("done")
    table.add_column("what it is")
    for row in problems:
        found = f"{row['count']:,}"
        table.add_row(row["problem"], found, row["unit"], DONE[row["action"]], row["what"])
    return table


MARKS = {
    "good": ("✓", "green"),
    "note": ("·", "cyan"),
    "warning": ("!", "yellow"),
    "fatal": ("✗", "red"),
}
ANSWERS = {"yes": "green", "with care": "yellow", "no": "red"}


def checked_tables(check: LogVerdicts) -> Iterator[Table | Text]:
    """Verdicts, then ranks, then findings from the worst to the best."""
    numbers = check.numbers
    yield Text(
        f"{check.log}: {_interactions(numbers['n_interactions'])}, "
        f"{numbers['documents']:,} documents of {numbers['queries']:,} queries shown"
    )
    yield _verdict_table(check)
    yield rank_table(numbers["impressions_by_rank"], numbers["click_rate"])
    order = list(reversed(MARKS))
    grid = Table.grid(padding=(0, 1))
    for finding in sorted(check.findings, key=lambda one: order.index(one.level)):
        grid.add_row(Text(*MARKS[finding.level]), _told(finding))
    yield grid


def _verdict_table(check: LogVerdicts) -> Table:
    table = Table("use of this log", "possible?", "because", show_lines=True)
    for verdict in check.verdicts.values():
        because = Text(verdict.reason)
        if len(verdict.findings) > 1:
            because.append(f"\nalso: {', '.join(verdict.findings[1:])}")
        if verdict.advice:
            because.append(f"\ndo: {verdict.advice}", "dim")
        answer = Text(verdict.answer, f"bold {ANSWERS[verdict.answer]}")
        table.add_row(verdict.use.replace("-", " "), answer, because)
    return table


def _told(finding: Finding) -> Text:
    """A finding; why it matters and what to do stand below."""
    text = Text.assemble((finding.name, "bold"), ": ", finding.text)
    if finding.level != "good":
        text.append(f"\nwhy: {finding.why}", "dim")
        if finding.advice:
            text.append(f"\ndo: {finding.advice}", "dim")
    return text


def simulated_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """What was drawn, and how often each rank was clicked."""
    yield Text.assemble(
        f"{result['n_interactions']:,} training interactions of users ",
        (result["users"], "bold"),
        f", {result['clicks']['train']:,} clicks, in {result['seconds']:.1f} s: {result['log']}",
    )
    table = Table("rank", "clicks per impression", BARS)
    highest = max(result["click_rate"], default=0.0) or 1.0
    for rank, rate in enumerate(result["click_rate"], start=1):
        table.add_row(str(rank), f"{rate:.4f}", "█" * round(30 * rate / highest))
    yield table
