"""Production and the new ranking side by side, documents linked across."""

from collections.abc import Mapping, Sequence
from typing import Any

from cltr.report.page.markup import Html, element, name_of

LONGEST = 10
"""Ranks that are drawn."""
ROW = 32
"""Pixels of a row, as in the style sheet (2rem)."""


def ranking_pair(query: Mapping[str, Any], top_k: int) -> Html:
    """Two lists with lines between them.

    Args:
        query: with its documents, their ranks before and after.
        top_k: ranks that users see.
    """
    most = min(top_k, LONGEST)
    old = _top(query["documents"], "before", most)
    new = _top(query["documents"], "after", most)
    rows = max(len(old), len(new))
    before = {d["document"]: d["before"] for d in query["documents"]}
    return element(
        "div",
        element("div", element("h4", "production"), _list(old, "before")),
        element("div", _links(old, new, rows), class_="links", aria_hidden="true"),
        element("div", element("h4", "new ranking"), _list(new, "after", before)),
        class_="lists",
    )


def _top(documents: Sequence[Mapping[str, Any]], side: str, most: int) -> list[Mapping[str, Any]]:
    shown = [d for d in documents if d[side] is not None and d[side] <= most]
    return sorted(shown, key=lambda d: int(d[side]))


def _list(
    documents: Sequence[Mapping[str, Any]], side: str, before: Mapping[str, Any] | None = None
) -> Html:
    return element(
        "ol",
        [
            element(
                "li",
                element("span", str(d[side]), class_="rank"),
                name_of(d["document"], title=d["document"][:200]),
                None if before is None else _move(d),
            )
            for d in documents
        ],
    )


def _move(document: Mapping[str, Any]) -> Html:
    """How far it moved, in words that are read out, with an arrow."""
    old, new = document["before"], document["after"]
    if old is None:
        return element("span", "new", class_="move up")
    if old == new:
        return element("span", "=", class_="move", title="same rank", aria_label="same rank")
    way = "up" if new < old else "down"
    arrow = "▲" if way == "up" else "▼"
    words = f"{way} by {abs(old - new)}"
    return element(
        "span",
        f"{arrow}{abs(old - new)}",
        class_=f"move {way}",
        title=words,
        role="img",
        aria_label=words,
    )


def _links(old: Sequence[Mapping[str, Any]], new: Sequence[Mapping[str, Any]], rows: int) -> Html:
    """Lines from where a document was to where it is; the picture stretches with the page."""
    at = {d["document"]: place for place, d in enumerate(old)}
    lines = []
    for place, d in enumerate(new):
        if d["document"] not in at:
            continue
        y1, y2 = (at[d["document"]] + 0.5) * ROW, (place + 0.5) * ROW
        colour = "var(--grid)" if y1 == y2 else "var(--up)" if y2 < y1 else "var(--down)"
        curve = f"M0 {y1:g}C50 {y1:g} 50 {y2:g} 100 {y2:g}"
        lines.append(
            element(
                "path",
                d=curve,
                stroke=colour,
                stroke_width=2.0,
                fill="none",
                vector_effect="non-scaling-stroke",
            )
        )
    return element(
        "svg",
        lines,
        viewBox=f"0 0 100 {rows * ROW}",
        preserveAspectRatio="none",
        height=f"{rows * 2}rem",
        style=f"height:{rows * 2}rem",
    )
