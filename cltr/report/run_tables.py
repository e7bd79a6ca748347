"""The result of a run as tables."""

from collections.abc import Iterator
from typing import Any

from rich.table import Table
from rich.text import Text

TITLES = {"production": "production", "policy": "new policy", "skyline": "skyline"}


def result_tables(result: dict[str, Any]) -> Iterator[Table | Text]:
    """The result of a run: who is better, and what could go wrong."""
    yield _headline(result)
    judged = f"ndcg@{result['top_k']}" in result["metrics"]["policy"]
    if judged:
        yield _metrics(result)
        if "blend" in result:  # looked at once more, so in detail
            yield _more_metrics(result)
    if not judged or ("off_policy" in result and result.get("assumptions")):
        yield _off_policy(result)
    yield _certificate(result)
    for assumption in result.get("assumptions", ()):
        yield Text(f"assumed: {assumption}", style="dim")
    for warning in result.get("warnings", ()):
        yield Text(f"warning: {warning}", style="yellow")
    yield Text(f"run: {result['run']}", style="dim")


def gap_closed(result: dict[str, Any]) -> float | None:
    """Share of the gap between production and skyline that the policy closed."""
    metrics = result["metrics"]
    if "skyline" not in metrics:
        return None
    name = f"ndcg@{result['top_k']}"
    if metrics["production"][name] is None:
        return None
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
        change = "" if who == "production" or base is None else _change(values[name], base)
        style = "bold" if who == "policy" else None
        row = [TITLES[who], _number(values[name]), _number(values[f"train_{name}"]), change]
        table.add_row(*row, style=style)
    closed = gap_closed(result)
    if closed is not None:
        table.caption = f"{closed:.0%} of the gap to the skyline closed"
        table.caption_justify = "left"
    return table


def _more_metrics(result: dict[str, Any]) -> Table:
    """All metrics on test queries, in expectation under the served policy."""
    metrics = result["metrics"]
    table = Table(title="Test queries, in expectation", title_justify="left")
    table.add_column("")
    for who in metrics:
        table.add_column(TITLES[who], justify="right")
    for name in metrics["policy"]:
        if not name.startswith("train_"):
            row = (_number(values.get(name)) for values in metrics.values())
            table.add_row(name.replace("_", " "), *row)
    return table


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _off_policy(result: dict[str, Any]) -> Table:
    """Values by validation clicks: all that there is without judgements."""
    found = result["off_policy"]
    judged = f"ndcg@{result['top_k']}" in result["metrics"]["policy"]
    table = Table(title=f"Value by {found['n_interactions']:,} validation interactions")
    table.title_justify = "left"
    table.add_column("")
    table.add_column(f"{result['metric']}@{result['top_k']} by {found['reward']}", justify="right")
    table.add_column("standard error", justify="right")
    for who in ("production", "policy", "difference"):
        estimate = found[who]
        error = estimate["standard_error"]
        style = "bold" if who == "policy" else None
        shown = "unknown" if error is None else f"{error:.4f}"
        table.add_row(TITLES.get(who, who), f"{estimate['value']:.4f}", shown, style=style)
    if not judged:
        table.caption = "there are no judgements, so no NDCG: this rests on the assumed click model"
        table.caption_justify = "left"
    return table


def _change(value: float, base: float) -> str:
    return f"{value - base:+.4f} ({(value / base - 1):+.1%})" if base else f"{value - base:+.4f}"


def _certificate(result: dict[str, Any]) -> Table:
    table = Table(title="Certificate: what could be lost, whatever is relevant")
    table.title_justify = "left"
    table.add_column("")
    splits = [split for split in ("test", "train") if result["certificate"][split] is not None]
    for split in splits:
        table.add_column(split, justify="right")
    certificates = [result["certificate"][split] for split in splits]
    rows = {
        "worst loss, share of the metric": ("worst_loss", "{:.1%}"),
        "… if one document is relevant": ("worst_loss_1", "{:.1%}"),
        "… if three are": ("worst_loss_3", "{:.1%}"),
        "smallest weight ratio, all queries": ("ratio_min", "{:.3g}"),
        "… of the median query": ("ratio_min_p50", "{:.3g}"),
        "documents outside the band": ("documents_outside", "{:.1%}"),
    }
    for title, (key, form) in rows.items():
        if certificates and certificates[0][key] is not None:
            table.add_row(title, *(form.format(one[key]) for one in certificates))
    before = [""] * (len(splits) - 1)
    if result.get("unsupported_documents"):
        count = f"{result['unsupported_documents']:,}"
        table.add_row("documents the safe bound leaves out", *before, count)
    if result.get("clip_fraction") is not None:
        table.add_row("rewarded documents past the clip", *before, f"{result['clip_fraction']:.1%}")
    return table
