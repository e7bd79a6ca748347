"""Fitted click models as tables: models side by side, position bias by rank, which one to use."""

import shlex
from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from cltr.clicks.intervals import CONFIDENCE
from cltr.clicks.model_comparison import SURE
from cltr.clicks.plots import BASELINES
from cltr.files.storage import finite

UNFOLDED = 10_000
"""Columns of a file or pipe."""


def fit_tables(
    report: Mapping[str, Any], *, data: str | None = None, width: int = UNFOLDED
) -> Iterator[Table | Text]:
    """Models from best to worst, bias by rank, what must be known of it, and how to go on.

    Args:
        report: of :func:`cltr.clicks.model_comparison.fit_models`.
        data: the data set as the user named it, for the command to go on with.
        width: columns that there are; in a file or a pipe nothing needs to be folded.
    """
    report = finite(report)
    n = report["n_interactions"]
    yield Text(
        f"{report['log']}: fitted to {n['fitted']:,} interactions on {report['queries']:,} "
        f"queries, scored on {n['held_out']:,} held out ({report['held_out']})"
    )
    if n["unused_test"]:
        yield Text(f"not used: {n['unused_test']:,} test interactions, kept to judge policies")
    yield from _tables("Held-out clicks, models from best to worst", _models(report), width)
    yield Text("perplexity: 1 is a perfect prediction, 2 is a coin toss", "dim")
    yield from _tables("Position bias by rank", _bias(report), width)
    intervals = f"; in brackets {CONFIDENCE:.0%} intervals"
    yield Text(
        "harvested: click rate at a rank over that at the first rank, of documents shown at both"
        + (intervals if "intervals" in report["harvested"] else ""),
        "dim",
    )
    yield from _notes(report)
    yield _winner(report)
    yield from _recommended(report, data)
    if report["picture"]:
        yield Text(f"picture: {report['picture']}", "dim")


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


def _models(report: Mapping[str, Any]) -> Columns:
    ranks = range(1, report["top_k"] + 1)
    rows = [
        *("log-likelihood per list", "  against the best", "  standard error"),
        *("perplexity", "perplexity, given clicks above"),
        *(f"  at rank {rank}" for rank in ranks),
        *("EM steps", "seconds"),
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


def _bias(report: Mapping[str, Any]) -> Columns:
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


def _notes(report: Mapping[str, Any]) -> Iterator[Text]:
    for model in report["models"]:
        if not model["converged"]:
            asked = model["bias"] is not None and "intervals" in model["bias"]
            none = "; it gets no intervals before" if asked else ""
            yield Text.assemble(
                ("!", "yellow"),
                f" {model['name']} has not converged after {model['steps']} steps; "
                "give it more (-o click-model.iterations=...)" + none,
            )
        for note in model["notes"]:
            yield Text(f"{model['name']}: {note}", "dim")
        bias = model["bias"]
        if bias is not None and any(bias["trust"]):
            yield Text(
                f"{model['name']}: clicks determine slope and intercept: the click probability at "
                "a rank is slope times that at the first rank, plus intercept. They do not "
                "determine examination and trust, so these have no intervals",
                "dim",
            )


def _winner(report: Mapping[str, Any]) -> Text:
    best, *others = report["models"]
    line = Text.assemble("winner: ", (best["name"], "bold"))
    if others:
        behind = others[0]["against_winner"]
        ahead = {"value": -behind["value"], "standard_error": behind["standard_error"]}
        line.append(f", {_ahead(ahead)} than {others[0]['name']}")
        line.append("" if _sure(ahead) else "; held-out clicks do not distinguish the two")
    return line


def _ahead(difference: dict[str, Any]) -> str:
    """By how much a model predicts held-out clicks better, with its unit."""
    error = _number(difference["standard_error"])
    return f"{difference['value']:.4f} nats per list better (standard error {error})"


def _sure(difference: dict[str, Any]) -> bool:
    value, error = difference["value"], difference["standard_error"]
    return error is not None and value > SURE * error


def _recommended(report: Mapping[str, Any], data: str | None) -> Iterator[Text]:
    models = {one["name"]: one for one in report["models"]}
    name, affine = report["recommended"], report["recommended_affine"]
    if name is None:
        yield Text(
            "cltr recommends none of these models: a model must have converged, and must say how "
            "users examine ranks"
        )
        return
    reasons = "".join(f"; {reason}" for reason in _reasons(report, models))
    yield Text.assemble("recommended: ", (name, "bold"), reasons)
    if models[name]["file"] is None:
        return
    yield Text(f"use it: {_command(report, models[name], data)}", no_wrap=True)
    if affine not in (None, name):
        yield Text(
            f"ips, dr and safe need a click model with examination and trust by rank, which {name} "
            f"is not; for them: {_command(report, models[affine], data)}",
            no_wrap=True,
        )


def _reasons(report: Mapping[str, Any], models: dict[str, Any]) -> Iterator[str]:
    """Why the recommended model is not the one that scores best."""
    name, best = report["recommended"], report["models"][0]
    simpler = report["against_affine"] if name == report["recommended_affine"] else {}
    for other, difference in simpler.items():
        yield (
            f"{other} is {_ahead(difference)}, so held-out clicks do not distinguish the two, and "
            f"{name} is the simpler model"
        )
    if best["name"] == name or best["name"] in simpler:
        return
    if not best["converged"]:
        yield f"{best['name']} has not converged, so cltr does not recommend it"
    elif best["name"] in BASELINES:
        yield f"{best['name']} is a baseline, which cannot correct for position bias"
    else:
        yield (
            f"{best['name']} and {name} are equally good on held-out clicks, and every reward "
            f"can use {name}"
        )


def _command(report: Mapping[str, Any], model: dict[str, Any], data: str | None) -> str:
    """How to train with a model: as it stands, it runs."""
    words = ["cltr", "train", "--log", report["log"]]
    words += [] if data is None else ["--data", data]
    words += ["--top-k", str(report["top_k"]), "--click-model", f"fitted:{model['file']}"]
    words += [] if model["affine"] else ["--reward", "click-model"]
    return shlex.join(words)
