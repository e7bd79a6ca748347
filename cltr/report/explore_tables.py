"""A policy that explores, as tables and as the README of its folder."""

from collections.abc import Iterator, Mapping
from typing import Any

from rich.table import Table
from rich.text import Text

from cltr.looks import POINT

KNOWN_BY = {
    "sorted scores": "it sorts documents by its scores ({elsewhere:.1%} of the impressions are "
    "elsewhere)",
    "sampled scores": "it draws rankings from its scores, by Plackett-Luce ({elsewhere:.1%} of the "
    "impressions are elsewhere, beyond chance)",
    "records": "computed from the records of the requests that were served",
    "propensities": "by the propensities in the log",
    "counts": "as counted in the log: what the log does not show counts as never shown",
}


def explore_tables(result: Mapping[str, Any]) -> Iterator[Table | Text]:
    """What production is, the certificate, and what the next log would support."""
    for sentence in sentences(result):
        yield Text(sentence)
    yield _overlap(result)
    for path in result["files"]:
        yield Text(path, "dim", no_wrap=True)
    if result["files"]:
        then = f"next: serve it (README.md says how), then: {_ingest(result)}"
        yield Text(then, "dim", no_wrap=True)


def _ingest(result: Mapping[str, Any]) -> str:
    """The command that reads the log of what was served."""
    data = f" --data {result['data']}" if result["data"] else ""
    return f"cltr ingest requests.jsonl clicks.csv --format served{data} --out next.h5"


def sentences(result: Mapping[str, Any]) -> Iterator[str]:
    """Who production is, what is certified, and for which queries."""
    production, worst = result["production"], result["worst_case"]
    how = KNOWN_BY[production["known_by"]].format(elsewhere=production["impressions_elsewhere"])
    yield (
        f"Production (ω0): {how}. Its ranking never changes in {production['fixed_rankings']:.0%} "
        "of these queries."
    )
    if production["rejected"]:
        yield f"Not used: {production['rejected']}."
    metric = worst["metric"].upper()
    counted = " from production as counted" if production["known_by"] == "counts" else ""
    yield (
        f"Certificate: whatever users find relevant, {metric} falls by at most "
        f"{100 * worst['largest_query']:.2f} points{counted} in any of the "
        f"{result['queries']:,} queries, and by at most {100 * worst['mean']:.2f} points "
        f"in their mean by this log's traffic ({POINT})."
    )
    if result["queries_with_production"]:
        yield (
            f"{result['queries_with_production']:,} queries get production's ranking: nothing is "
            "known of it there, or there is nothing to explore."
        )


def _overlap(result: Mapping[str, Any]) -> Table:
    before, after, n = result["before"], result["after"], result["n_interactions"]
    table = Table(
        title=f"what {n:,} requests show and support", title_justify="left", title_style=""
    )
    table.add_column("")
    for heading in ("production", "exploring"):
        table.add_column(heading, justify="right")
    table.add_row(
        "expected candidates that are shown at least once",
        *(f"{one['candidates_shown']:.1%}" for one in (before, after)),
    )
    table.add_row(
        "least shown candidate of a query (median): requests that show it",
        *(f"{one['least_shown']:.2%}" for one in (before, after)),
    )
    table.add_row(
        "exposure of a random order that the log cannot estimate",
        *(f"{one['hidden']:.1%}" for one in (before, after)),
    )
    table.add_row(
        "equally weighted interactions, for a random order (examination 1/rank)",
        *(f"{one['random_order']:,.0f}" for one in (before, after)),
    )
    return table


def folder_readme(result: Mapping[str, Any]) -> str:
    """How to serve the policy, and how its log becomes the next training log."""
    told = "\n".join(f"- {sentence}" for sentence in sentences(result))
    return f"""# A policy that explores, made by cltr explore

{told}

`serving.json` has rankings with shares for each query. `result.json` has all numbers.

Serve it with the standard library and `cltr.serving`; production's scores stand for both rankers:

```python
from cltr.serving import ServingRule

rule = ServingRule.load("serving.json")
served = rule.serve(request_id, query, new=scores, production=scores)
show(served.shown)
log_line(served.record(scores, scores, time=now))
```

`scores` are production's scores of all candidates by document id; minus the rank will do if it has
none. The certificate holds while a query's candidates are those of the log: documents that are gone
are left out, and new ones come last.

Log clicks by request id and document. Then:

    {_ingest(result)}
    cltr train --log next.h5{" --data " + result["data"] if result["data"] else ""}
"""
