"""A log counted the slow way, row by row in Python, for tests to compare with; and small logs."""

import csv
import json
from collections import Counter, defaultdict
from pathlib import Path

REAL = Path(__file__).parents[2] / "shared" / "data"
COLUMNS = ("session", "query", "position", "doc", "click")


def rows(*lists, query="q"):
    """Rows of interactions, each a pair of shown documents and clicked ones."""
    return [
        {"session": f"s{i}", "query": query, "position": p, "doc": doc, "click": int(doc in clicks)}
        for i, (shown, clicks) in enumerate(lists)
        for p, doc in enumerate(shown, start=1)
    ]


def write_csv(path, table, delimiter=","):
    with open(path, "w", newline="", encoding="utf-8") as stream:
        writer = csv.DictWriter(stream, COLUMNS, delimiter=delimiter, extrasaction="ignore")
        writer.writeheader()
        writer.writerows(table)
    return path


def write_jsonl(path, table):
    path.write_text("".join(json.dumps(row) + "\n" for row in table), encoding="utf-8")
    return path


def write_parquet(path, table):
    import duckdb

    jsonl = write_jsonl(path.with_suffix(".jsonl"), table)
    duckdb.execute(f"COPY (SELECT * FROM read_json('{jsonl}')) TO '{path}' (FORMAT parquet)")
    jsonl.unlink()
    return path


WRITERS = {"csv": write_csv, "jsonl": write_jsonl, "parquet": write_parquet}


def count(table):
    """Impressions and clicks by (query, document, position), displays by query, and problems.

    Of rows without a value that is needed nothing is left. Rows that agree count once. Interactions
    whose rows contradict each other are left out. Of a document only the first position counts.
    """
    problems = Counter()
    lists = defaultdict(set)
    for row in table:
        missing = {name for name, value in row.items() if value in (None, "")}
        if "position" in missing and row["click"] and not missing & {"query", "doc"}:
            problems["clicks-without-impression"] += 1
        elif missing:
            problems["missing-values"] += 1
        else:
            shown = lists[row["query"], row["session"]]
            one = row["position"], row["doc"], int(row["click"] > 0)
            problems["repeated-rows"] += one in shown
            shown.add(one)
    impressions, clicks, displays = Counter(), Counter(), Counter()
    for (query, _), shown in lists.items():
        if len({position for position, _, _ in shown}) < len(shown):
            problems["conflicts"] += 1
            continue
        kept = {}
        for position, doc, click in sorted(shown):
            problems["repeated-documents"] += doc in kept
            kept.setdefault(doc, (position, click))
        displays[query] += 1
        for doc, (position, click) in kept.items():
            impressions[query, doc, position] += 1
            clicks[query, doc, position] += click
        problems["gaps"] += max(position for position, _ in kept.values()) != len(kept)
    return impressions, clicks, displays, {k: n for k, n in problems.items() if n}


def counted(log):
    """The same of a log file that stands alone, both splits together."""
    impressions, clicks, displays = Counter(), Counter(), Counter()
    lists = log.lists
    for part in log.statistics.values():
        for q, query in enumerate(lists.query_ids.tolist()):
            displays[query] += int(part.displays[q])
            for d in range(lists.offsets[q], lists.offsets[q + 1]):
                for k in range(part.top_k):
                    key = query, str(lists.document_ids[d]), k + 1
                    impressions[key] += int(part.impressions[d, k])
                    clicks[key] += int(part.clicks[d, k])
    return tuple(
        Counter({k: n for k, n in c.items() if n}) for c in (impressions, clicks, displays)
    )
