"""Fitted click models as tables: models side by side, position bias by rank, which one to use."""

from collections.abc import Iterator
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from cltr.files.storage import finite

UNFOLDED = 10_000
"""Columns of a file or pipe."""


def print_fit(report: dict[str, Any]) -> None:
    """Models from best to worst, bias by rank, what must be known of it, and how to go on."""
    report = finite(report)
    console = Console()
    if not console.is_terminal:  # in a file or a pipe nothing needs to be folded
        console = Console(width=UNFOLDED)
    n = report["n_interactions"]
    console.print(
        f"{report['log']}: fitted to {n['fitted']:,} interactions on {report['queries']:,} "
        f"queries, scored on {n['held_out']:,} held out ({report['held_out']})",
        highlight=False,
    )
    if n["unused_test"]:
        console.print(
            f"not used: {n['unused_test']:,} test interactions, kept to judge policies",
            highlight=False,
        )
    title = "Held-out clicks, models from best to worst"
    for table in _tables(title, _models(report), console.width):
        console.print(table)
    console.print("perplexity: 1 is perfect, 2 a coin", style="dim", highlight=False)
    for table in _tables("Position bias by rank", _bias(report), console.width):
        console.print(table)
    intervals = "; in brackets 95 % intervals over queries"
    console.print(
        "harvested: click rates against the first rank of documents shown at both ranks"
        + (intervals if "intervals" in report["harvested"] else ""),
        style="dim",
        highlight=False,
    )
    _print_notes(console, report)
    _print_winner(console, report)


Columns = dict[str, list[str]]
"""Texts by title; the first column says what the rows are."""


def _tables(title: str, columns: Columns, width: int) -> Iterator[Table]:
    """One table, or several below each other where it is too wide."""
    (first, rows), *others = columns.items()
    while others:
        table = Table(title=title, title_justify="left")
        table.add_column(first)
        used = 4 + max(map(len, (first, *rows)))
        chosen: list[list[str]] = []
        while others:
            name, values = others[0]
            needed = 3 + max(len(text) for text in (*name.split("\n"), *values))
            if chosen and used + needed > width:
                break
            used += needed
            chosen.append(values)
            table.add_column(name, justify="right")
            others.pop(0)
        for row, *texts in zip(rows, *chosen, strict=True):
            table.add_row(row, *map(Text, texts))
        yield table


def _models(report: dict[str, Any]) -> Columns:
    ranks = range(1, report["top_k"] + 1)
    rows = [
        *("log-likelihood a list", "  against the best", "  standard error"),
        *("perplexity", "perplexity given clicks"),
        *(f"  at rank {rank}" for rank in ranks),
        *("steps of EM", "seconds"),
    ]
    columns = {"": rows}
    for model in report["models"]:
        behind = model["against_winner"]
        columns[model["name"]] = [
            _number(model["log_likelihood"]),
            f"{behind['value']:+.4f}",
            _number(behind["standard_error"]),
            _number(model["perplexity"]),
            _number(model["conditional_perplexity"]),
            *map(_number, model["conditional_perplexity_by_rank"]),
            _steps(model),
            f"{model['seconds']:.2f}",
        ]
    return columns


def _steps(model: dict[str, Any]) -> str:
    if not model["converged"]:
        return f"{model['steps']}, stopped"
    return str(model["steps"]) if model["steps"] else "closed form"


def _bias(report: dict[str, Any]) -> Columns:
    """Examination and trust by rank, of models and without one."""
    columns = {"rank": [str(rank) for rank in range(1, report["top_k"] + 1)]}
    for model in report["models"]:
        bias = model["bias"]
        if bias is None:
            continue
        shown = ["examination"]
        if any(bias["trust"]):
            shown += ["trust", "slope", "intercept"]
        for name in shown:
            columns[f"{model['name']}\n{name}"] = _with(bias[name], bias.get("intervals", {}), name)
    found = report["harvested"].get("intervals", {})
    for name, values in report["harvested"].items():
        if name != "intervals":
            columns[f"harvested\n{name.replace('_', ' ')}"] = _with(values, found, name)
    return columns


def _with(values: list[float], intervals: dict[str, Any], name: str) -> list[str]:
    texts = [_number(value, 3) for value in values]
    if name not in intervals:
        return texts
    ends = zip(intervals[name]["low"], intervals[name]["high"], strict=True)
    both = zip(texts, ends, strict=True)
    return [f"{text} [{_number(low, 3)}, {_number(high, 3)}]" for text, (low, high) in both]


def _number(value: float | None, digits: int = 4) -> str:
    return "–" if value is None else f"{value:.{digits}f}"


def _print_notes(console: Console, report: dict[str, Any]) -> None:
    for model in report["models"]:
        if not model["converged"]:
            drawn = model["bias"] is not None and "intervals" in model["bias"]
            narrow = "; its intervals are too narrow" if drawn else ""
            console.print(
                f"[yellow]![/] {model['name']} has not converged after {model['steps']} steps; "
                "give it more (-o click-model.iterations=...)" + narrow,
                highlight=False,
            )
        for note in model["notes"]:
            console.print(f"{model['name']}: {note}", style="dim", highlight=False, markup=False)
        bias = model["bias"]
        if bias is not None and "ranges" in bias:
            low, high = bias["ranges"]["trust"]["low"][0], bias["ranges"]["trust"]["high"][0]
            console.print(
                f"{model['name']}: trust at the first rank may be anything from {low:.3f} to "
                f"{high:.3f} with the same clicks; slope and intercept are determined: the click "
                "probability at a rank is slope times that at the first, plus intercept",
                style="dim",
                highlight=False,
            )


def _print_winner(console: Console, report: dict[str, Any]) -> None:
    best = report["models"][0]
    line = f"winner: [bold]{best['name']}[/]"
    if len(report["models"]) > 1:
        second = report["models"][1]
        behind = second["against_winner"]
        value, error = -behind["value"], behind["standard_error"]
        sure = error is not None and value > 2 * error
        line += f", {value:.4f} a list better than {second['name']}"
        line += "" if sure else "; the clicks held out cannot tell the two apart"
    console.print(line, highlight=False)
    if best["file"] is None:
        return
    log = report["log"]
    if best["affine"]:
        use = f"--click-model fitted:{best['file']}"
    else:
        use = f"--click-model fitted:{best['file']} --reward click-model"
    console.print(f"use it: cltr train --log {log} {use}", highlight=False, soft_wrap=True)
    other = next((one for one in report["models"] if one["affine"]), None)
    if other is not None and not best["affine"]:
        console.print(
            f"{best['name']} is not affine in relevance; for ips, dr and safe: "
            f"--click-model fitted:{other['file']}",
            highlight=False,
            soft_wrap=True,
        )
    if report["picture"]:
        console.print(f"picture: {report['picture']}", style="dim", highlight=False)
