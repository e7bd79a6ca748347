"""Logs as tables: what was simulated or ingested, and what was found wrong with it."""

from collections.abc import Iterable, Mapping
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cltr.checks.findings import Finding
from cltr.checks.log_check import LogCheck


def print_ingested(report: dict[str, Any]) -> None:
    """What the log holds, by rank, and what was wrong with it."""
    console = Console()
    clicks = _listed(f"{count:,}" for count in report["clicks"].values())
    lists = (
        f", {report['documents']:,} documents of {report['queries']:,} queries"
        if report["queries"] is not None
        else ""
    )
    console.print(
        f"{_interactions(report['n_interactions'])} with {clicks} clicks{lists}, "
        f"in {report['seconds']:.1f} s: {report['log']}",
        highlight=False,
    )
    console.print(rank_table(report["impressions_by_rank"], report["click_rate"]))
    print_problems(console, report["problems"])
    for note in report["notes"]:
        console.print(f"note: {note}", highlight=False)
    console.print(f"next: cltr check {report['log']}", style="dim", highlight=False)


PARTS = {"train": "training", "valid": "validation", "test": "test"}


def _interactions(counts: Mapping[str, int]) -> str:
    """How many interactions each part of a log has, in words."""
    return f"{_listed(f'{count:,} {PARTS[part]}' for part, count in counts.items())} interactions"


def _listed(words: Iterable[str]) -> str:
    """``a, b and c``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def rank_table(impressions: list[int], rates: list[float]) -> Table:
    """Impressions and clicks per impression by rank, with bars."""
    table = Table("rank")
    table.add_column("impressions", justify="right")
    table.add_column("clicks per impression", justify="right")
    table.add_column("")
    highest = max(rates, default=0.0) or 1.0
    for rank, (shown, rate) in enumerate(zip(impressions, rates, strict=True), start=1):
        table.add_row(str(rank), f"{shown:,}", f"{rate:.4f}", "█" * round(30 * rate / highest))
    return table


def print_problems(console: Console, problems: list[dict[str, Any]]) -> None:
    """What was wrong, and what was done about it."""
    if not problems:
        console.print("no problems")
        return
    table = Table("problem")
    table.add_column("found", justify="right")
    table.add_column("", justify="left")
    table.add_column("done")
    table.add_column("what it is")
    done = {"keep": "kept", "drop": "dropped"}
    for row in problems:
        found = f"{row['count']:,}"
        table.add_row(row["problem"], found, row["unit"], done[row["action"]], row["what"])
    console.print(table)


MARKS = {
    "good": ("✓", "green"),
    "note": ("·", "cyan"),
    "warning": ("!", "yellow"),
    "fatal": ("✗", "red"),
}
ANSWERS = {"yes": "green", "with care": "yellow", "no": "red"}


def print_checked(check: LogCheck) -> None:
    """Verdicts, then ranks, then findings from the worst to the best."""
    console = Console()
    numbers = check.numbers
    console.print(
        f"{check.log}: {_interactions(numbers['n_interactions'])}, "
        f"{numbers['documents']:,} documents of {numbers['queries']:,} queries shown",
        highlight=False,
        markup=False,
    )
    console.print(_verdict_table(check))
    console.print(rank_table(numbers["impressions_by_rank"], numbers["click_rate"]))
    order = list(reversed(MARKS))
    grid = Table.grid(padding=(0, 1))
    for finding in sorted(check.findings, key=lambda one: order.index(one.level)):
        grid.add_row(Text(*MARKS[finding.level]), _told(finding))
    console.print(grid)


def _verdict_table(check: LogCheck) -> Table:
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


def print_simulation(result: dict[str, Any]) -> None:
    """What was drawn, and how often each rank was clicked."""
    console = Console()
    console.print(
        f"{result['n_interactions']:,} training interactions of users [bold]{result['users']}[/], "
        f"{result['clicks']['train']:,} clicks, in {result['seconds']:.1f} s: {result['log']}"
    )
    table = Table("rank", "clicks per impression", "")
    highest = max(result["click_rate"], default=0.0) or 1.0
    for rank, rate in enumerate(result["click_rate"], start=1):
        table.add_row(str(rank), f"{rate:.4f}", "█" * round(30 * rate / highest))
    console.print(table)
