"""A log at a glance: verdicts, click rates, swaps, overlap, traffic, production and drift."""

import textwrap
from pathlib import Path
from typing import Any

import numpy as np

from cltr.checks.completeness import FEW_CLICKS
from cltr.checks.findings import QUESTIONS_OF_USES
from cltr.checks.log_check import LogVerdicts
from cltr.checks.support import MANY_EFFECTIVE_CLICKS
from cltr.clicks.plots import check_picture
from cltr.looks import ANSWERS, BLUE, GREY, LIGHT, ORANGE
from cltr.looks import VERMILLION as RED

MOST_LABELS = 12
"""Ranks up to which every one is labelled, and numbers are written into the swap matrix."""


def draw_check(check: LogVerdicts, path: Path) -> None:
    """Draw what was found in a log, as PNG, SVG or PDF by the file's name."""
    kind = check_picture(path)
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    from cltr.files.storage import write_beside

    figure = pyplot.figure(figsize=(13, 8.6), layout="constrained")
    rows: Any = figure.subfigures(3, 1, height_ratios=[1.25, 3.2, 3.0])
    top, middle, bottom = rows
    _draw_verdicts(top, check)
    first, second, third = middle.subplots(1, 3)
    _draw_rates(first, check)
    _draw_swaps(second, check)
    _draw_overlap(third, check)
    first, second, third = bottom.subplots(1, 3)
    _draw_traffic(first, check)
    _draw_production(second, check)
    _draw_drift(third, check)
    with write_beside(path) as partial:
        figure.savefig(partial, format=kind, dpi=130)
    pyplot.close(figure)


def _draw_verdicts(figure: Any, check: LogVerdicts) -> None:
    parts = check.numbers["n_interactions"]
    figure.suptitle(
        f"{Path(check.log).name}: {sum(parts.values()):,} interactions, "
        f"{check.numbers['queries']:,} queries, {check.numbers['documents']:,} documents",
        fontsize=13,
        fontweight="bold",
        x=0.01,
        ha="left",
    )
    for axes, verdict in zip(figure.subplots(1, 3), check.verdicts.values(), strict=True):
        look = ANSWERS[verdict.answer]
        axes.set_axis_off()
        axes.set(xlim=(0, 1), ylim=(0, 1))
        axes.add_patch(_bar(look.light))
        question = QUESTIONS_OF_USES[verdict.use].capitalize()
        axes.text(0.03, 0.98, question, fontsize=11, va="top", color="black")
        answer = f"{look.mark} {verdict.answer}"
        axes.text(0.03, 0.76, answer, fontsize=14, va="top", color=look.light, fontweight="bold")
        lines = textwrap.wrap(verdict.reason, 68)
        shown = lines[:3] + (["…"] if len(lines) > 3 else [])
        axes.text(0.03, 0.46, "\n".join(shown), fontsize=7.5, va="top", color=GREY)


def _bar(colour: str) -> Any:
    from matplotlib.patches import Rectangle

    return Rectangle((0, 0), 0.012, 1, color=colour, clip_on=False)


def _plain(axes: Any, title: str, **labels: Any) -> None:
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
    axes.set(**labels)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(labelsize=8)
    axes.xaxis.label.set_size(9)
    axes.yaxis.label.set_size(9)


def _nothing(axes: Any, title: str, words: str) -> None:
    axes.set_title(title, fontsize=10, loc="left", fontweight="bold")
    axes.set_axis_off()
    axes.text(0.5, 0.5, words, ha="center", va="center", fontsize=9, color=GREY, wrap=True)


def _rank_ticks(n_ranks: int) -> np.ndarray:
    return np.arange(1, n_ranks + 1, max(1, -(-n_ranks // MOST_LABELS)))


def _draw_rates(axes: Any, check: LogVerdicts) -> None:
    """Click rate by rank, and what swaps say is due to the rank alone."""
    impressions = np.array(check.numbers["impressions_by_rank"])
    rates = np.array(check.numbers["click_rate"])
    ranks = np.arange(1, len(rates) + 1)
    error = 1.96 * np.sqrt(rates * (1 - rates) / np.maximum(impressions, 1))
    bars = {"fmt": "o-", "capsize": 2, "markersize": 4, "linewidth": 1.2}
    axes.errorbar(ranks, rates, yerr=error, color=BLUE, label="click rate", **bars)
    known = _details(check, "position-bias-known")
    examination = np.array(known.get("examination") or [np.nan], dtype=np.float64)
    if np.isfinite(examination).sum() > 1:
        errors = np.array(known["standard_errors_of_log"], dtype=np.float64)
        level = rates[np.flatnonzero(np.isfinite(examination))[0]]
        middle = level * examination
        usable = np.isfinite(middle) & (errors < 1)
        low, high = middle * np.exp(-1.96 * errors), middle * np.exp(1.96 * errors)
        axes.errorbar(
            ranks[: len(usable)][usable] + 0.15,
            middle[usable],
            yerr=[(middle - low)[usable], (high - middle)[usable]],
            fmt="s",
            color=ORANGE,
            markersize=4,
            capsize=2,
            label="by rank alone (same documents)",
        )
    _plain(axes, "Clicks per impression, by rank", xlabel="rank", ylim=(0, None))
    axes.set_xticks(_rank_ticks(len(rates)))
    axes.legend(fontsize=7.5, frameon=False)


def _draw_swaps(axes: Any, check: LogVerdicts) -> None:
    """Impressions of one document at both of two ranks."""
    from matplotlib.colors import LogNorm

    title = "Same document at two ranks (impressions)"
    counts = np.array(_details(check, "position-bias-known").get("swap_impressions", [[0]]))
    if not counts.any():
        words = "no document was shown at two ranks:\nrank and relevance cannot be told apart"
        _nothing(axes, title, words)
        return
    n_ranks = len(counts)
    shown = np.ma.masked_where(counts == 0, counts)
    limits = (0.5, n_ranks + 0.5)
    norm = LogNorm(1, max(counts.max(), 10))
    axes.set_facecolor("#F2F2F2")
    axes.imshow(shown, cmap="Blues", norm=norm, extent=(*limits, *limits[::-1]), aspect="auto")
    if n_ranks <= MOST_LABELS:
        for row, column in np.argwhere(counts > 0):
            colour = "black" if norm(counts[row, column]) < 0.6 else "white"
            words = _short(counts[row, column])
            place = {"ha": "center", "va": "center", "fontsize": 6.5, "color": colour}
            axes.text(column + 1, row + 1, words, **place)
    _plain(axes, title, xlabel="rank", ylabel="rank")
    axes.set_xticks(_rank_ticks(n_ranks))
    axes.set_yticks(_rank_ticks(n_ranks))


def _short(count: int) -> str:
    return f"{count:,}" if count < 1000 else f"{count / 1000:.3g}k" if count < 1e6 else "1M+"


def _draw_overlap(axes: Any, check: LogVerdicts) -> None:
    """Clicks that the log is worth for other rankings."""
    title = "Clicks that the log is worth"
    worth = _details(check, "overlap")
    if not worth:
        _nothing(axes, title, "no interactions")
        return
    values = {
        "in the log": check.finding("clicks").number or 0,
        "close rankings\n(neighbours swapped)": worth["close"]["clicks"],
        "very different\n(random order)": worth["very_different"]["clicks"],
    }
    places = np.arange(len(values))
    axes.barh(places, np.maximum(list(values.values()), 1), color=[LIGHT, BLUE, BLUE], height=0.6)
    axes.set_yticks(places, list(values), fontsize=8)
    axes.set_xscale("log")
    largest = max(*values.values(), 1000.0)
    for place, value in zip(places, values.values(), strict=True):
        axes.text(max(value, 1) * 1.1, place, f"{value:,.0f}", va="center", fontsize=8)
    limits = {FEW_CLICKS: ("--", "needed at least"), MANY_EFFECTIVE_CLICKS: (":", "plenty")}
    for limit, (style, words) in limits.items():
        label = f"{limit} {words}"
        axes.axvline(limit, color=RED, linewidth=1.2, linestyle=style, label=label)
    known = "position-bias-known" not in check.verdicts["position-bias"].findings
    words = "clicks (log scale)" if known else "clicks (log scale), if position bias were known"
    _plain(axes, title, xlabel=words, xlim=(1, largest * 8), ylim=(3.1, -0.5))
    axes.legend(fontsize=7.5, frameon=False, loc="lower right")


def _draw_traffic(axes: Any, check: LogVerdicts) -> None:
    """Share of the largest queries."""
    shares = np.array(check.numbers["traffic_of_largest_queries"][:20])
    places = np.arange(1, len(shares) + 1)
    colours = [RED if share > 0.5 else BLUE for share in shares]
    axes.bar(places, 100 * shares, color=colours)
    rest = max(check.numbers["queries"] - len(shares), 0)
    others = f"; {rest:,} others: {max(1 - shares.sum(), 0.0):.0%}" if rest else ""
    _plain(
        axes,
        "Traffic of the largest queries",
        xlabel=f"query, by traffic (first {len(shares)}{others})",
        ylabel="% of interactions",
    )
    axes.xaxis.get_major_locator().set_params(integer=True)


def _draw_production(axes: Any, check: LogVerdicts) -> None:
    """How much of the traffic gets the same list again."""
    title = "Does production repeat its lists?"
    shares = np.array(check.numbers["traffic_by_repetition"])
    if not shares.any():
        _nothing(axes, title, "no query came twice")
        return
    left = np.arange(len(shares)) / len(shares)
    colours = [RED if at >= 0.9 else BLUE for at in left]
    axes.bar(left, 100 * shares, width=0.9 / len(shares), align="edge", color=colours)
    _plain(
        axes,
        title,
        xlabel="chance of the same document at a rank, next time (1: always)",
        ylabel="% of interactions",
        xlim=(0, 1),
    )


def _draw_drift(axes: Any, check: LogVerdicts) -> None:
    """Click rate by period."""
    title = "Click rate over time"
    periods = check.numbers["periods"]
    if len(periods) < 2:
        _nothing(axes, title, "no times were logged\n(cltr ingest --time-column)")
        return
    shown = np.array([sum(period["impressions"]) for period in periods])
    rates = np.array([sum(period["clicks"]) for period in periods]) / np.maximum(shown, 1)
    error = 1.96 * np.sqrt(rates * (1 - rates) / np.maximum(shown, 1))
    places = np.arange(1, len(rates) + 1)
    style = {"fmt": "o-", "capsize": 2, "markersize": 4, "linewidth": 1.2}
    axes.errorbar(places, rates, yerr=error, color=BLUE, **style)
    axes.axhline(rates.mean(), color=GREY, linewidth=0.8, linestyle=":")
    _plain(axes, title, xlabel="period, from first to last", ylabel="clicks per impression")
    axes.set(ylim=(0, 1.15 * (rates + error).max() or 1.0), xticks=places)


def _details(check: LogVerdicts, name: str) -> dict[str, Any]:
    return next((dict(one.details) for one in check.findings if one.name == name), {})
