"""Candidates by all estimators, side by side."""

from collections.abc import Iterable, Mapping
from typing import Any

from cltr.looks import label
from cltr.report.page.markup import Content, Html, element, join, name_of, section, table
from cltr.report.page.numbers import count, decimal, interval, points, signed
from cltr.report.page.subject import Subject


def estimator_table(one: Mapping[str, Any], caption: Content) -> Html:
    """One candidate by all estimators."""
    head = [
        "estimator",
        "candidate",
        "production",
        "difference",
        "standard error",
        "lower bound",
        "kind of bound",
    ]
    rows = [
        [
            row["estimator"],
            decimal(row["value"]),
            decimal(row["production"]),
            signed(row["difference"]),
            decimal(row["error"]),
            "none" if row["low"] is None else signed(row["low"]),
            row["bound"],
        ]
        for row in one["estimates"]
    ]
    return table(caption, head, rows)


def candidates_section(subject: Subject) -> Html:
    """Several candidates side by side."""
    result = subject.result
    both = [*result["candidates"], *result["references"]]
    tables = [
        estimator_table(one, join(name_of(label(one["candidate"])), f" ({one['serving']})"))
        for one in both
    ]
    return section(
        "candidates",
        "Candidates side by side",
        _gains(result, both),
        element("p", REFERENCES, class_="note"),
        element("h3", "By all estimators"),
        tables,
    )


REFERENCES = (
    "The last rows are references: production sorted by score instead of sampled, and a random "
    "order. Worst-case losses are in NDCG points (1 point = 0.01). 'Equal "
    "interactions': how many equally weighted interactions the log is worth for a ranker."
)


def _gains(result: Mapping[str, Any], both: Iterable[Mapping[str, Any]]) -> Html:
    """Gain, worst case and support of each ranker."""
    head = [
        "candidate",
        "estimated gain",
        f"bounds, {result['confidence']:.0%}",
        "worst-case loss",
        "equal interactions",
    ]
    rows = [
        [
            name_of(label(one["candidate"])),
            signed(one["gain"]["value"]),
            interval(one["gain"]["low"], one["gain"]["high"]),
            points(one["worst_case_loss"]),
            count(one["support"]["effective_sample"]),
        ]
        for one in both
    ]
    caption = (
        f"Gain over production in {result['metric'].upper()}@{result['top_k']} a request (level "
        f"2), and how far NDCG@{result['top_k']} could fall (level 0)"
    )
    return table(caption, head, rows)
