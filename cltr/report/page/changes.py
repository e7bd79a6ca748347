"""What changes for users: the queries that change most, head and tail, segments."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from cltr.looks import POINT
from cltr.report.page.facts import Facts, facts_of
from cltr.report.page.markup import (
    Content,
    Html,
    disclosure,
    element,
    join,
    name_of,
    paragraphs,
    section,
    table,
)
from cltr.report.page.numbers import count, decimal, percent, points, signed
from cltr.report.page.ranking_pair import ranking_pair
from cltr.report.page.subject import Subject

TITLE = "What changes for users"
OPEN = 1
"""Queries that are open when the page is."""


def changes_section(subject: Subject) -> Html:
    """Which queries change, how much, and for whom."""
    found = subject.changes
    if found is None:
        return section("changes", TITLE, _unknown(subject))
    facts = facts_of(subject)
    if not found["by_traffic"] and not found["by_risk"]:
        return section("changes", TITLE, _nothing(subject, found))
    return section(
        "changes",
        TITLE,
        _summary(found, facts),
        _queries(found, "by_traffic", facts),
        _queries(found, "by_risk", facts),
        _groups(found, facts),
        _segments(found, facts),
    )


def _unknown(subject: Subject) -> Html:
    if subject.kind in ("run", "evaluation") and not any(
        subject.result["certificate"].get(split) for split in ("test", "train")
    ):
        return element("p", "Nothing is known about production here, so nothing can be compared.")
    if subject.kind == "candidates":
        return element(
            "p",
            "With several candidates the page has no rankings side by side. "
            "Evaluate one candidate alone to see them.",
        )
    return element(
        "p",
        "This result was made without the rankings side by side. Make it again "
        "with this version of cltr to see them.",
    )


def _nothing(subject: Subject, found: Mapping[str, Any]) -> Content:
    why = "The run kept production." if subject.judged.get("plan") == "stay" else ""
    return [
        element("p", "Nothing changes: every query keeps the ranking of production. ", why),
        element(
            "p",
            "Looked at ",
            count(found["documents"]),
            " documents of ",
            count(found["queries"]),
            " queries.",
            class_="note",
        ),
    ]


def _summary(found: Mapping[str, Any], facts: Facts) -> Html:
    basis = "requests" if found["query_weights"] == "traffic" else "queries"
    told: list[Content] = [
        [
            percent(found["exposure_moved"]),
            " of the exposure moves to other documents, and ",
            percent(found["other_first"]),
            f" of the {basis} have another document with the most exposure, if all requests get "
            "the new ranking.",
        ],
    ]
    if found["interactions"] is not None:
        told.append(
            [
                "Clicks, impressions and relevance estimates are those of ",
                count(found["interactions"]),
                f" held-out interactions ({found['split']} part). Estimates have no bias under the "
                "click model, and can lie outside 0 to 1. Those of single queries are rough.",
            ]
        )
    told.append(
        f"Exposure is the expected DCG weight of a document, as a share of its list's. Ranks "
        f"are by exposure. Gains are in {facts.estimated_metric} (level 2), worst-case "
        f"losses in points of {facts.ndcg} ({POINT}; level 0)."
    )
    return join(element("p", told[0]), paragraphs(told[1:], class_="note"))


HEADINGS = {
    "by_traffic": (
        "Queries that change most, by traffic",
        "Traffic times the share of the query's exposure that moves.",
    ),
    "by_risk": (
        "Queries that change most, by risk",
        "Queries whose NDCG can fall furthest, whatever users find relevant.",
    ),
}


def _queries(found: Mapping[str, Any], which: str, facts: Facts) -> Html:
    queries = found[which]
    if not queries:
        return Html("")
    title, words = HEADINGS[which]
    earlier = {q["query"] for q in found["by_traffic"]} if which == "by_risk" else set()
    rows = [
        [
            name_of(q["query"], most=60),
            "not known" if q["interactions"] is None else count(q["interactions"]),
            percent(q["traffic"]),
            percent(q["exposure_moved"]),
            points(q["worst_case_loss"]),
            "not known" if q["gain"] is None else signed(q["gain"]),
        ]
        for q in queries
    ]
    head = [
        "query",
        "interactions",
        "traffic",
        "exposure that moves",
        "worst-case loss",
        "estimated gain",
    ]
    sides = [
        _side_by_side(q, facts, open_=which == "by_traffic" and number < OPEN)
        for number, q in enumerate(queries)
        if q["query"] not in earlier
    ]
    return join(element("h3", title), table(words, head, rows), sides)


def _side_by_side(query: Mapping[str, Any], facts: Facts, *, open_: bool) -> Html:
    """Both rankings of a query, and a table with all numbers."""
    summary = join(
        name_of(query["query"], most=60),
        element("span", "both rankings side by side", class_="note"),
    )
    return disclosure(summary, ranking_pair(query, facts.top_k), _documents(query), open_=open_)


def _documents(query: Mapping[str, Any]) -> Html:
    rows = [
        [
            name_of(d["document"], most=60),
            _rank(d["before"]),
            _rank(d["after"]),
            percent(d["exposure_before"]),
            percent(d["exposure_after"]),
            "" if d["impressions"] is None else count(d["impressions"]),
            "" if d["clicks"] is None else count(d["clicks"]),
            "" if d["relevance"] is None else decimal(d["relevance"], digits=2),
        ]
        for d in query["documents"]
    ]
    head = [
        "document",
        "rank before",
        "rank after",
        "exposure before",
        "exposure after",
        "impressions",
        "clicks",
        "estimated relevance",
    ]
    n, every = len(rows), query["documents_of_query"]
    caption = join(
        "Documents of the query ",
        name_of(query["query"], most=60),
        f": {n} of {every:,}, those at the top of either ranking",
    )
    return table(caption, head, rows)


def _rank(rank: int | None) -> str:
    return "not shown" if rank is None else str(rank)


def _groups(found: Mapping[str, Any], facts: Facts) -> Html:
    """Head, torso and tail."""
    del facts
    title = element("h3", "Head, torso and tail")
    if not found["groups"]:
        if found["interactions"] is None:
            return Html("")
        return join(
            title,
            element(
                "p",
                "Queries come about equally often in these clicks, so "
                "there is no head and no tail.",
            ),
        )
    caption = (
        "Queries by their traffic: the most frequent ones with about a third of it, those with "
        "the next third, and all others"
    )
    return join(
        title, table(caption, ["queries", "how many", *_HEAD], map(_group, found["groups"]))
    )


_HEAD = (
    "traffic",
    "exposure that moves",
    "another first document",
    "worst-case loss",
    "estimated gain",
)


def _group(row: Mapping[str, Any]) -> list[Content]:
    return [row["name"], count(row["queries"]), *_means(row)]


def _means(row: Mapping[str, Any]) -> Iterator[Content]:
    yield percent(row["traffic"])
    yield percent(row["exposure_moved"])
    yield percent(row["other_first"])
    yield points(row["worst_case_loss"])
    yield "not known" if row["gain"] is None else signed(row["gain"])


def _segments(found: Mapping[str, Any], facts: Facts) -> Html:
    """By columns that the log keeps with interactions."""
    del facts
    segments = found["segments"]
    if not segments or not (segments["columns"] or segments["left_out"]):
        return Html("")
    tables = [_segment(name, rows) for name, rows in segments["columns"].items()]
    note: list[Content] = [
        "From ",
        count(segments["interactions"]),
        " held-out interactions. Losses and gains differ "
        "between segments because these ask different queries.",
    ]
    if segments["left_out"]:
        names = ", ".join(segments["left_out"])
        note.append(f" Left out, because they have too many values or columns: {names}.")
    return join(element("h3", "Segments"), tables, element("p", note, class_="note"))


def _segment(name: str, rows: Sequence[Mapping[str, Any]]) -> Html:
    head = [name, "interactions", "clicks an interaction", *_HEAD]
    body = [
        [
            name_of(row["name"] or "(empty)", most=60),
            count(row["interactions"]),
            decimal(row["clicks_per_interaction"], digits=3),
            *_means(row),
        ]
        for row in rows
    ]
    return table(join("By ", name_of(name)), head, body)
