"""Candidates and verdicts as tables."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.table import Table
from rich.text import Text

from cltr.looks import DECISIONS, OUTCOMES, POINT, label, with_sign

IN_FULL = {"log. smoothing": "logarithmic\nsmoothing"}
"""Names of estimators that would be misread in short."""
BOUNDS = {
    "betting": "lower bounds marked 'betting' or 'smoothing' hold for any number of interactions",
    "t": "those marked 't' are approximate",
}


def candidate_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """All candidates by all estimators, references below."""
    yield Text(
        f"Estimated from {result['n_interactions']:,} held-out interactions. Values are "
        f"{_metric(result)} a request; a gain is the candidate's value less production's. Errors "
        "are standard errors.",
        style="italic",
    )
    for one in (*result["candidates"], *result["references"]):
        yield _estimates(one, result)
        yield from _notes(one, result)
    n = len(result["candidates"])
    together = f" for all {n} candidates together" if n > 1 else ""
    yield Text(
        f"Lower bounds hold{together} with {result['confidence']:.0%} confidence; "
        f"{'; '.join(BOUNDS.values())}. All rely on the click model ({result['click_model']}). "
        "docs/gate.md explains estimators and bounds.",
        style="dim",
    )
    yield from _independence(result["independent"])
    yield from _health(result["checks"])
    for assumption in result["assumptions"]:
        yield Text(f"note: {assumption}", style="dim")


def _independence(found: Mapping[str, Any], *, two: bool = True) -> Iterator[Text]:
    """What the standard errors mean, those for these queries and for new ones if ``two``."""
    same = (
        " The training clicks are on the same queries, so the error for new queries is valid only "
        "for a candidate that was made without clicks on them."
    )
    told = (
        f"Standard errors for these queries treat {found['these_queries']} as independent "
        f"({found['n_these_queries']:,} of them), those for new queries treat queries as "
        f"independent ({found['n_new_queries']:,} of them)."
    )
    if found["these_queries"] == "queries":
        told = (
            f"Standard errors treat queries as independent ({found['n_new_queries']:,} of them). "
            "The log has counts only, so there is no separate error for these queries."
        )
    elif not two:
        told = (
            f"The standard error treats {found['these_queries']} as independent "
            f"({found['n_these_queries']:,} of them); with queries as independent it is the same."
        )
    yield Text(f"{told}{same if found['same_queries_in_training'] else ''}", style="dim")
    if found["one_query_dominates"]:
        yield Text(
            f"One query has {found['largest_query_share']:.0%} of the held-out interactions, so "
            "the error for new queries is not reliable.",
            style="yellow",
        )


def _metric(result: Mapping[str, Any]) -> str:
    return f"{result['metric'].upper()}@{result['top_k']}"


def _estimates(one: Mapping[str, Any], result: Mapping[str, Any]) -> Table:
    table = Table(title=f"{label(one['candidate'])} ({one['serving']})", title_justify="left")
    table.add_column("estimator", no_wrap=True)
    for title in (
        "value",
        "gain",
        "error,\nthese\nqueries",
        "error,\nnew\nqueries",
        f"lower bound\nof the gain, {result['confidence']:.0%}",
    ):
        table.add_column(title, justify="right", no_wrap=True)
    for row in one["estimates"]:
        table.add_row(
            IN_FULL.get(row["estimator"], row["estimator"]),
            f"{row['value']:.4f}",
            with_sign(row["difference"]),
            _number(row["error"]),
            _number(row["query_error"]),
            "none" if row["low"] is None else f"{with_sign(row['low'])} ({row['bound']})",
        )
    return table


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4f}"


def _notes(one: Mapping[str, Any], result: Mapping[str, Any]) -> Iterator[Text]:
    support = one["support"]
    yield Text(
        f"About this candidate the log says as much as {support['effective_sample']:,.0f} equally "
        f"weighted {result['units']}; one click counts up to "
        f"{support['largest_weight']:,.1f} times (the larger, the fewer clicks decide); "
        f"{support['unsupported']:.1%} of the candidate's exposure is on documents that "
        "production never shows.",
        style="dim",
    )
    yield Text(
        f"Whatever users find relevant, NDCG@{result['top_k']} falls by at most "
        f"{100 * one['worst_case_loss']:.1f} points ({POINT}).",
        style="dim",
    )
    name = f"ndcg@{result['top_k']}"
    if one["metrics"] is not None and result["production_metrics"] is not None:
        yield Text(
            f"NDCG@{result['top_k']} on judgements: {one['metrics'][name]:.4f} (production "
            f"{result['production_metrics'][name]:.4f})."
        )
    yield from (Text(sentence, style="yellow") for sentence in one["notes"])
    yield from _health([one["sign_of_the_gain"]] if one["sign_of_the_gain"] else [])


def _health(checks: Iterable[Mapping[str, Any]]) -> Iterator[Text]:
    for check in checks:
        if check["outcome"] != "pass":
            words = f"{check['outcome']}: {check['sentence']} {check['advice']}".strip()
            yield Text(words, style=OUTCOMES[check["outcome"]].terminal)


def _health_summary(checks: Sequence[Mapping[str, Any]]) -> Iterator[Text]:
    """How many health checks passed, and the names of the others; reasons tell what they found."""
    if not checks:
        return
    others = [check for check in checks if check["outcome"] != "pass"]
    told = f"Health checks: {len(checks) - len(others)} of {len(checks)} passed"
    names = (f"{check['name']} ({OUTCOMES[check['outcome']].label})" for check in others)
    yield Text(f"{told}{'; not passed: ' if others else ''}{', '.join(names)}.")


def canary_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """What a canary supports now."""
    yield Text(result["decision"], style=DECISIONS[result["decision"]].terminal)
    yield Text(f"Show the candidate to {result['share']:.2%} of the requests now.")
    for number, reason in enumerate(result["reasons"], start=1):
        yield Text(f"{number}. {reason}")


def verdict_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """A verdict: the decision first, then why."""
    yield Text(result["verdict"], style=DECISIONS[result["verdict"]].terminal)
    yield Text(result["sentence"])
    for number, reason in enumerate(result["reasons"], start=1):
        yield Text(f"{number}. {reason}")
    yield from _health_summary(result["checks"])
    support = result["support"]
    yield Text(
        f"{support['unsupported']:.1%} of the candidate's exposure is on documents that production "
        f"never shows; one click counts up to {support['largest_weight']:,.1f} times (the larger, "
        "the fewer clicks decide).",
        style="dim",
    )
    for note in result["notes"]:
        yield Text(note, style="yellow")
    if any("standard error" in reason for reason in result["reasons"]):
        two = any("for new queries" in reason for reason in result["reasons"])
        yield from _independence(result["independent"], two=two)
    for assumption in result["assumptions"]:
        yield Text(f"note: {assumption}", style="dim")
