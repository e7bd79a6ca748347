"""The result of a run as tables."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from cltr.looks import POINT, SPLITS_IN_WORDS, label, with_sign
from cltr.report.health_tables import health_lines, verdict_line

ALWAYS = {"ndcg", "dcg", "precision", "recall", "mrr", "average_rank"}
"""Metrics that every result on judgements has."""
KNOWN_HOW = {
    "exact": "Production's exposure is computed from production's scores.",
    "logged": "Production's exposure comes from propensities in the log.",
    "counted": "Production's exposure is counted from the log, so it is an estimate.",
}


def result_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """The result of a run: what cannot be true, who is better, and what could go wrong."""
    yield _headline(result)
    for alert in result.get("alerts", ()):
        yield Text(alert, style="bold red")
    for warning in result.get("warnings", ()):
        yield Text(f"warning: {warning}", style="yellow")
    yield from health_lines(result)
    judged = f"ndcg@{result['top_k']}" in result["metrics"].get("policy", {})
    if judged:
        yield _metrics(result)
        if "judged_queries" in result:
            n, queries = result["judged_queries"]
            yield Text(
                f"NDCG is the mean over the {n:,} of {queries:,} test queries with judgements."
            )
        yield from _gap(result)
        if "blend" in result or _asked(result):  # looked at once more, so in detail
            yield _more_metrics(result)
    if "off_policy" in result and (not judged or result.get("assumptions")):
        found = result["off_policy"]
        kind = "validation" if found.get("seen_by_training") else "held-out"
        yield Text(
            f"Estimated from {found['n_interactions']:,} {kind} interactions", style="italic"
        )
        yield _off_policy(result)
        yield from _off_policy_notes(result)
    yield Text(
        f"Worst case: how far NDCG@{result['top_k']} could fall below production, whatever users "
        f"find relevant, in NDCG points ({POINT})",
        style="italic",
    )
    yield _certificate(result)
    yield from _certificate_notes(result)
    for assumption in result.get("assumptions", ()):
        yield Text(f"note: {assumption}", style="dim")
    yield Text(f"run: {result['run']}", style="dim")
    yield from verdict_line(result)


def gap_closed(result: Mapping[str, Any]) -> float | None:
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


def _headline(result: Mapping[str, Any]) -> Text:
    blend = result.get("blend", 1.0)
    mixed = ""
    if blend != 1.0:
        mixed = f"; the new ranking is shown to {blend:.1%} of requests, production to the rest"
    users = f"simulated users ({result['users']})" if result["users"] else "the users of the log"
    return Text.assemble(
        (f"method {result['estimator']}, reward {result['reward']}", "bold"),
        f", {result['ranker']} gradients, {result['n_interactions']:,} interactions of {users}, "
        f"data {result['data']}{mixed}",
    )


def _metrics(result: Mapping[str, Any]) -> Table:
    name = f"ndcg@{result['top_k']}"
    metrics = result["metrics"]
    table = Table(title_justify="left")
    table.add_column("")
    cutoff = f"NDCG@{result['top_k']}"
    for split in ("test", "train"):
        table.add_column(f"{cutoff}\n{SPLITS_IN_WORDS[split]}", justify="right")
    table.add_column("change against\nproduction, test", justify="right")
    base = metrics["production"][name]
    for who, values in metrics.items():
        change = "" if who == "production" or base is None else _change(values[name], base)
        style = "bold" if who == "policy" else None
        row = [label(who), _number(values[name]), _number(values[f"train_{name}"]), change]
        table.add_row(*row, style=style)
    return table


def _gap(result: Mapping[str, Any]) -> Iterator[Text]:
    closed = gap_closed(result)
    if closed is not None:
        yield Text(
            f"In NDCG@{result['top_k']} on test queries the new policy closes {closed:.0%} of the "
            "gap between production and a ranker trained on true labels."
            if closed >= 0
            else "The new policy is worse than production.",
            style="dim",
        )


def _more_metrics(result: Mapping[str, Any]) -> Table:
    """All metrics on test queries, in expectation under the served policy."""
    metrics = result["metrics"]
    table = Table(
        title="All metrics on test queries, expected over the rankings that are served",
        title_justify="left",
    )
    table.add_column("")
    for who in metrics:
        table.add_column(label(who), justify="right")
    for name in metrics["policy"]:
        if not name.startswith("train_"):
            row = (_number(values.get(name)) for values in metrics.values())
            table.add_row(name.replace("_", " "), *row)
    return table


def _asked(result: Mapping[str, Any]) -> bool:
    """Whether there are metrics beside those that are always there."""
    names = {name.partition("@")[0] for name in result["metrics"]["policy"]}
    return not {name.removeprefix("train_") for name in names} <= ALWAYS


def _number(value: float | None) -> str:
    return "unknown" if value is None else f"{value:.4f}"


def _off_policy(result: Mapping[str, Any]) -> Table:
    """Values estimated from clicks: all that there is without labels."""
    found = result["off_policy"]
    name = f"{result['metric'].upper()}@{result['top_k']}"
    table = Table()
    table.add_column("")
    table.add_column(f"{name}, estimated ({found['reward']})", justify="right")
    table.add_column("standard error", justify="right")
    table.add_column("95% interval", justify="right")
    for who in ("production", "policy", "difference"):
        estimate = found[who]
        style = "bold" if who == "policy" else None
        low, high = estimate.get("low"), estimate.get("high")
        interval = "none" if low is None or high is None else f"{low:.4f} to {high:.4f}"
        error = _number(estimate["standard_error"])
        table.add_row(label(who), f"{estimate['value']:.4f}", error, interval, style=style)
    return table


def _off_policy_notes(result: Mapping[str, Any]) -> Iterator[Text]:
    """What the estimates rest on, one sentence each."""
    found = result["off_policy"]
    target = found["difference"].get("target", "these queries")
    yield Text(
        f"The estimates rely on the click model '{result['click_model']}'. The intervals are about "
        f"{target}.",
        style="dim",
    )
    yield from _unsupported(found)
    if found.get("fitted_click_model"):
        yield Text(
            "The click model was fitted. The intervals include its error, on the scale of "
            "relevance that it was fitted on.",
            style="dim",
        )
    if found.get("seen_by_training"):
        yield Text(
            "These clicks also chose the training epoch, so the value of the new policy is too "
            "high. Ingest the log again to hold out test clicks.",
            style="yellow",
        )
    if found.get("one_query_dominates"):
        yield Text(
            f"One query has {found['largest_query_share']:.0%} of these interactions: the "
            "estimates say little about other queries.",
            style="yellow",
        )
    if found.get("effective_interactions") is not None:
        yield Text(
            f"About the new policy these {found['n_interactions']:,} interactions say as much as "
            f"{found['effective_interactions']:,.0f} equally weighted ones; the largest weight of "
            f"a click is {found['largest_weight']:,.1f}.",
            style="dim",
        )


def _unsupported(found: dict[str, Any]) -> Iterator[Text]:
    """Which values have no interval, and why: one sentence for each reason."""
    reasons: dict[str, list[str]] = {}
    for who in ("production", "policy", "difference"):
        if reason := found[who].get("no_interval_because"):
            reasons.setdefault(reason, []).append(label(who))
    for reason, values in reasons.items():
        yield Text(
            f"These clicks support no interval ({', '.join(values)}): {reason}.", style="yellow"
        )


def _change(value: float, base: float) -> str:
    change = with_sign(value - base)
    return f"{change} ({(value / base - 1):+.1%})" if base else change


def _certified_splits(result: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    found = {split: result["certificate"][split] for split in ("test", "train")}
    return {split: one for split, one in found.items() if one is not None}


def _certificate(result: Mapping[str, Any]) -> Table:
    """The most that NDCG can fall, whatever users find relevant."""
    name, found = f"ndcg@{result['top_k']}", _certified_splits(result)
    table = Table()
    table.add_column("")
    for split in found:
        table.add_column(SPLITS_IN_WORDS[split], justify="right")
    rows = {
        "any documents relevant": "loss",
        "at most 1 document relevant": "at_most_1",
        "at most 3 documents relevant": "at_most_3",
        "the most affected query": "largest_query",
    }
    for title, key in rows.items():
        losses = (one["worst_case"][name][key] for one in found.values())
        table.add_row(title, *(f"{100 * loss:.1f} points" for loss in losses))
    return table


def _certificate_notes(result: Mapping[str, Any]) -> Iterator[Text]:
    """What the worst case rests on, and how far documents were moved."""
    found = _certified_splits(result)
    told: dict[str, list[str]] = {}
    for split, one in found.items():
        told.setdefault(_basis_of(one), []).append(SPLITS_IN_WORDS[split])
    for sentences, splits in told.items():
        yield Text(f"Worst case on {' and '.join(splits)}: {sentences}", style="dim")
    if result.get("certificate_confirmed"):
        those = " and ".join(SPLITS_IN_WORDS[split] for split in found)
        yield Text(
            f"Confirmed: computed again from the files of the run, the worst case of {those} is "
            "what the run says, on average and for the most affected query."
        )
    if result.get("clip_fraction") is not None and result.get("plan") != "stay":
        yield Text(
            f"The clip stopped learning for {result['clip_fraction']:.1%} of the rewarded "
            "documents.",
            style="dim",
        )
    if result.get("unsupported_documents"):
        yield Text(
            f"The safe bound leaves out {result['unsupported_documents']:,} documents that "
            "production never shows.",
            style="yellow",
        )


def _basis_of(one: Mapping[str, Any]) -> str:
    """What happens to documents, and how the worst case of a split was computed, in sentences."""
    basis, outside = one["worst_case"], one["documents_outside"]
    by_traffic = basis["query_weights"] == "traffic"
    weights = "Queries count by their traffic." if by_traffic else "All queries count equally."
    moved = [] if outside is None else [_moved(outside)]
    kept = _kept(basis["kept_of_most_demoted"])
    return " ".join([kept, *moved, weights, KNOWN_HOW[basis["exposure"]]])


def _moved(outside: float) -> str:
    """How many documents moved beyond the clip."""
    share = "Less than 0.1%" if outside < 0.001 else f"{outside:.1%}"
    who = f"{share} of the documents" if outside > 0 else "No document"
    return f"{who} moved beyond the clip, the limit up to which training rewards a move."


def _kept(ratio: float) -> str:
    """What the most demoted document keeps of its exposure."""
    if ratio >= 1 - 1e-9:
        return "No document loses exposure."
    share = f"{100 * ratio:.3g}%" if ratio < 0.9995 else "more than 99.9%"
    share = "less than 0.01%" if ratio < 1e-4 else share
    return f"The hardest-hit document keeps {share} of the exposure that production gave it."
