"""[8] Results to tables that people read."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

TITLES = {"production": "production", "policy": "new policy", "skyline": "skyline"}


def result_tables(result: dict[str, Any]) -> Iterator[Table | Text]:
    """The result of a run: who is better, and what could go wrong."""
    yield _headline(result)
    yield _metrics(result)
    yield _certificate(result)
    yield Text(f"run: {result['run']}", style="dim")


def gap_closed(result: dict[str, Any]) -> float | None:
    """Share of the gap between production and skyline that the policy closed."""
    metrics = result["metrics"]
    if "skyline" not in metrics:
        return None
    name = f"ndcg@{result['top_k']}"
    gap = metrics["skyline"][name] - metrics["production"][name]
    if gap <= 0:
        return None
    return float((metrics["policy"][name] - metrics["production"][name]) / gap)


def _headline(result: dict[str, Any]) -> Text:
    blend = result.get("blend", 1.0)
    mixed = "" if blend == 1.0 else f", served in {blend:.1%} of the cases"
    return Text.assemble(
        (f"{result['estimator']} over {result['reward']}", "bold"),
        f" by {result['ranker']}, {result['n_interactions']:,} interactions, "
        f"users {result['users'] or 'unknown'}, data {result['data']}{mixed}",
    )


def _metrics(result: dict[str, Any]) -> Table:
    name = f"ndcg@{result['top_k']}"
    metrics = result["metrics"]
    table = Table(title_justify="left")
    table.add_column("")
    table.add_column(f"NDCG@{result['top_k']} test", justify="right")
    table.add_column("train", justify="right")
    table.add_column("against production", justify="right")
    base = metrics["production"][name]
    for who, values in metrics.items():
        change = "" if who == "production" else _change(values[name], base)
        style = "bold" if who == "policy" else None
        row = [TITLES[who], f"{values[name]:.4f}", f"{values['train_' + name]:.4f}", change]
        table.add_row(*row, style=style)
    closed = gap_closed(result)
    if closed is not None:
        table.caption = f"{closed:.0%} of the gap to the skyline closed"
        table.caption_justify = "left"
    return table


def _change(value: float, base: float) -> str:
    return f"{value - base:+.4f} ({(value / base - 1):+.1%})" if base else f"{value - base:+.4f}"


def _certificate(result: dict[str, Any]) -> Table:
    table = Table(title="Certificate: what could be lost, whatever is relevant")
    table.title_justify = "left"
    table.add_column("")
    table.add_column("test", justify="right")
    table.add_column("train", justify="right")
    test, train = result["certificate"]["test"], result["certificate"]["train"]
    rows = {
        "worst loss, share of the metric": ("worst_loss", "{:.1%}"),
        "… if one document is relevant": ("worst_loss_1", "{:.1%}"),
        "… if three are": ("worst_loss_3", "{:.1%}"),
        "smallest weight ratio, all queries": ("ratio_min", "{:.3g}"),
        "… of the median query": ("ratio_min_p50", "{:.3g}"),
        "documents outside the band": ("documents_outside", "{:.1%}"),
    }
    for title, (key, form) in rows.items():
        if test[key] is not None:
            table.add_row(title, form.format(test[key]), form.format(train[key]))
    if result.get("clip_fraction") is not None:
        table.add_row("rewarded documents past the clip", "", f"{result['clip_fraction']:.1%}")
    return table
