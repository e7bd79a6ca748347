"""A small shop with known truth, for the tutorial: its tables, its users, and what is true.

    python examples/shop.py open shop
    python examples/shop.py serve shop run --share 0.2 --requests 20000
    python examples/shop.py truth shop run

``open`` writes what a search team has: ``features.parquet``, ``scores.parquet`` (of production)
and ``log.parquet``. ``serve`` lets users search while a share of the requests gets the ranker of a
run; it writes ``requests.jsonl`` and ``clicks.jsonl``, as a service would, and ``canary.jsonl``, a
row for each request. ``truth`` says what no real team can know: how much a run really gains.
"""

import argparse
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import cltr
from cltr.serving import ServingRule

QUERIES, DOCUMENTS, SHOWN = 150, 12, 5
SESSIONS = 30_000
EXAMINATION = 1 / np.arange(1, SHOWN + 1)
"""Chance that a user looks at each rank; a look at a wanted product is a click."""


class Shop:
    """Products for each search, how much users want them, and production's scores."""

    def __init__(self, seed: int = 7) -> None:
        rng = self.rng = np.random.default_rng(seed)
        shape = (QUERIES, DOCUMENTS)
        text, price, age, rating = rng.normal(size=(4, *shape))
        wanted = 1.2 * text + 0.8 * rating - 0.5 * price + 0.4 * rng.normal(size=shape)
        self.relevance = 0.9 / (1 + np.exp(-1.5 * (wanted - 1)))
        self.scores = 1.0 * text + 0.3 * age + 0.4 * rng.normal(size=shape)
        self.queries = np.array([f"search term {number}" for number in range(QUERIES)])
        self.documents = np.array([f"SKU-{n:05d}" for n in rng.permutation(text.size)])
        self.features = {
            "text match": text,
            "price": np.exp(3 + price),
            "days online": 300 + 100 * age,
            "rating": 3.5 + 0.5 * rating,
        }
        popularity = 1 / np.arange(1, QUERIES + 1) ** 0.5
        self.traffic = popularity / popularity.sum()

    def table(self, **columns: np.ndarray) -> pa.Table:
        """A row for each search and product."""
        owners = np.repeat(self.queries, DOCUMENTS)
        values = {name: column.ravel() for name, column in columns.items()}
        return pa.table({"query": owners, "document": self.documents, **values})

    def open(self, folder: Path) -> None:
        """Write the three tables that a team has."""
        folder.mkdir(parents=True, exist_ok=True)
        pq.write_table(self.table(**self.features), folder / "features.parquet")
        pq.write_table(self.table(score=self.scores), folder / "scores.parquet")
        asked = self.rng.choice(QUERIES, SESSIONS, p=self.traffic)
        keys = self.scores[asked] + self.rng.gumbel(size=(SESSIONS, DOCUMENTS))
        order = np.argsort(-keys, axis=1)[:, :SHOWN]
        clicked = self.clicks(asked, order)
        log = {
            "session": np.repeat(np.arange(SESSIONS), SHOWN),
            "query": np.repeat(self.queries[asked], SHOWN),
            "document": self.names(asked)[np.arange(SESSIONS)[:, None], order].ravel(),
            "position": np.tile(np.arange(1, SHOWN + 1), SESSIONS),
            "click": clicked.ravel(),
        }
        pq.write_table(pa.table(log), folder / "log.parquet")

    def names(self, queries: np.ndarray) -> np.ndarray:
        """Products of some searches, ``[searches, DOCUMENTS]``."""
        return self.documents.reshape(QUERIES, DOCUMENTS)[queries]

    def clicks(self, queries: np.ndarray, order: np.ndarray) -> np.ndarray:
        """What users click of what they are shown: a position-based model."""
        wanted = np.take_along_axis(self.relevance[queries], order, axis=1)
        chances: np.ndarray = EXAMINATION[: order.shape[1]] * wanted
        return self.rng.random(order.shape) < chances

    def new_scores(self, run: Path) -> np.ndarray:
        """Scores of a run for all products."""
        production = self.table(score=self.scores)
        table = cltr.load(run).rank(self.table(**self.features), production=production).table()
        found = dict(zip(table["document"].to_pylist(), table["score"].to_pylist(), strict=True))
        scores = np.array([found[document] for document in self.documents.tolist()])
        return scores.reshape(QUERIES, DOCUMENTS)

    def serve(self, folder: Path, run: Path, share: float, requests: int) -> None:
        """Let users search; log every request, its clicks, and the canary."""
        rule = ServingRule.load(run / "serving.json")
        rule = ServingRule(share, rule.new, "sampled", rule.top_k)
        new = self.new_scores(run)
        self.rng = np.random.default_rng(8)
        files = {name: [] for name in ("requests", "clicks", "canary")}  # type: dict[str, list[Any]]
        for number, query in enumerate(self.rng.choice(QUERIES, requests, p=self.traffic)):
            names = self.names(query).tolist()
            mine = dict(zip(names, new[query].tolist(), strict=True))
            old = dict(zip(names, self.scores[query].tolist(), strict=True))
            request = f"request-{number}"
            served = rule.serve(request, str(self.queries[query]), new=mine, production=old)
            order = np.array([[names.index(one) for one in served.shown]])
            clicked = np.array(served.shown)[self.clicks(np.array([query]), order)[0]].tolist()
            files["requests"].append(served.record(mine, old))
            files["clicks"] += [{"request": request, "document": one} for one in clicked]
            seen = {"arm": served.arm, "share": served.share, "click": int(bool(clicked))}
            files["canary"].append(seen)
        for name, rows in files.items():
            text = "".join(json.dumps(row) + "\n" for row in rows)
            (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")

    def value(self, scores: np.ndarray) -> float:
        """Expected DCG@5 of drawing rankings with these scores, with true relevance."""
        from cltr.policies.rank_weights import rank_weights
        from cltr.types import Lists

        lists = Lists.of_offsets(np.arange(QUERIES + 1) * DOCUMENTS)
        weights = rank_weights("dcg", SHOWN)
        shares = cltr.PlackettLuce().expected_weights(scores.ravel(), lists, weights)
        return float(self.traffic @ lists.sum(shares * self.relevance.ravel()))


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")


def main() -> None:
    """Do what the command line says."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("action", choices=("open", "serve", "truth"))
    parser.add_argument("folder", type=Path, help="of the shop")
    parser.add_argument("run", type=Path, nargs="?", help="folder of a run")
    parser.add_argument("--share", type=float, default=0.2, help="of requests for the new ranker")
    parser.add_argument("--requests", type=int, default=20_000)
    given = parser.parse_args()
    shop = Shop()
    if given.action == "open":
        shop.open(given.folder)
        _say(f"wrote features.parquet, scores.parquet and log.parquet to {given.folder}")
        return
    if given.run is None:
        parser.error(f"{given.action} needs the folder of a run")
    if given.action == "serve":
        shop.serve(given.folder, given.run, given.share, given.requests)
        _say(f"served {given.requests:,} requests, {given.share:.0%} of them by {given.run}")
        return
    before, after = shop.value(shop.scores), shop.value(shop.new_scores(given.run))
    gain = after / before - 1
    _say(f"true DCG@5 a request: production {before:.3f}, new {after:.3f} ({gain:+.1%})")


if __name__ == "__main__":
    main()
