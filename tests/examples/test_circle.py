"""Guards the whole circle on a shop with known truth: from a log to the next log."""

import json
from pathlib import Path

import numpy as np
from click.testing import CliRunner

import cltr
from cltr.cli import cli
from cltr.logs.log_file import open_log
from cltr.policies import PlackettLuce
from cltr.policies.rank_weights import rank_weights
from cltr.serving import ServingRule
from cltr.types import Lists

N_QUERIES, N_DOCUMENTS, TOP_K = 60, 8, 5
EXAMINATION = 1 / np.arange(1, TOP_K + 1)


class Shop:
    """Documents with features, the truth about them, production's scores, and users."""

    def __init__(self) -> None:
        rng = self.rng = np.random.default_rng(11)
        shape = (N_QUERIES, N_DOCUMENTS)
        self.features = rng.normal(size=(*shape, 4)) * [1, 100, 0.01, 1] + [0, 1000, 0, 5]
        signal = self.features[..., 0] + 0.01 * (self.features[..., 1] - 1000)
        self.relevance = 1 / (1 + np.exp(-(1.5 * signal - 1)))
        self.production = 0.7 * self.features[..., 0] + 0.7 * rng.normal(size=shape)
        self.queries = [f"query {number}" for number in range(N_QUERIES)]
        self.documents = [[f"d{q}-{d}" for d in range(N_DOCUMENTS)] for q in range(N_QUERIES)]

    def frame(self):
        owners = np.repeat(self.queries, N_DOCUMENTS).tolist()
        names = [one for some in self.documents for one in some]
        flat = self.features.reshape(-1, 4)
        columns = {f"signal {number}": flat[:, number] for number in range(4)}
        return {"query": owners, "document": names, **columns}

    def serve(self, name, rule, new, n):
        """Files with records, clicks and the canary's requests; users examine and click."""
        records, clicks, canary = [], [], []
        for number in range(n):
            q = int(self.rng.integers(N_QUERIES))
            ids = self.documents[q]
            mine = dict(zip(ids, new[q].tolist(), strict=True))
            old = dict(zip(ids, self.production[q].tolist(), strict=True))
            request = f"{name}-{number}"
            served = rule.serve(request, self.queries[q], new=mine, production=old)
            chances = EXAMINATION * [self.relevance[q][ids.index(d)] for d in served.shown]
            clicked = [
                d for d, c in zip(served.shown, chances, strict=True) if self.rng.random() < c
            ]
            records.append(json.dumps(served.record(mine, old)))
            clicks += [json.dumps({"request": request, "document": d}) for d in clicked]
            row = {"arm": served.arm, "share": served.share, "click": int(bool(clicked))}
            canary.append(json.dumps(row))
        for what, lines in (("requests", records), ("clicks", clicks), ("canary", canary)):
            Path(f"{name}-{what}.jsonl").write_text("\n".join(lines) + "\n")

    def value(self, scores):
        """True DCG of drawing rankings with these scores."""
        lists = Lists.of_offsets(np.arange(N_QUERIES + 1) * N_DOCUMENTS)
        weights = rank_weights("dcg", TOP_K)
        omega = PlackettLuce().expected_weights(scores.ravel(), lists, weights)
        return float((omega * self.relevance.ravel()).sum() / N_QUERIES)


def run(*words, codes=(0,)):
    done = CliRunner().invoke(cli, [str(word) for word in (*words, "--json")], prog_name="cltr")
    assert done.exit_code in codes, done.stderr
    return json.loads(done.stdout)


def learned(shop, folder):
    """The run's scores of all documents, by rank with production's scores."""
    frame = shop.frame()
    keys = ("query", "document")
    known = {key: frame[key] for key in keys} | {"score": shop.production.ravel()}
    table = cltr.load(folder).rank(frame, production=known).table()
    scores = dict(zip(table["document"].to_pylist(), table["score"].to_pylist(), strict=True))
    return np.array([[scores[one] for one in some] for some in shop.documents])


def test_from_a_log_to_a_ranker_and_to_the_next_log(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shop = Shop()
    names, columns = shop.frame().keys(), shop.frame().values()
    rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
    Path("features.jsonl").write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    run("data", "import", "features.jsonl", "--out", "data.h5")
    today = ServingRule(0.0, production="sampled", top_k=TOP_K)
    shop.serve("first", today, np.zeros_like(shop.production), 20_000)
    files = ("first-requests.jsonl", "first-clicks.jsonl")
    run("ingest", *files, "--format", "served", "--data", "data.h5", "--out", "first.h5")
    run("check", "first.h5", codes=(0, 3))
    trained = run("train", "--log", "first.h5", "--data", "data.h5", "--out", "run")
    run("gate", "run", "--log", "first.h5", "--data", "data.h5", codes=(0, 3))
    assert run("export", "run", "--to", "onnx")["largest_difference"] < 1e-5
    new = learned(shop, "run")
    assert trained["verdict"] in ("deploy", "canary")
    assert shop.value(new) > shop.value(shop.production)

    rule = ServingRule.load("run/serving.json")
    assert rule.share == trained["advice"]["share"] > 0
    some = ServingRule(0.3, rule.new, "sampled", rule.top_k)
    shop.serve("second", some, new, 20_000)
    files = ("second-requests.jsonl", "second-clicks.jsonl")
    run("ingest", *files, "--format", "served", "--data", "data.h5", "--out", "second.h5")
    log = open_log(Path("second.h5"), cltr.open_dataset("data.h5"))
    shown = sum(part.impressions for part in log.statistics.values())
    displays = sum(part.displays_per_document for part in log.statistics.values())[:, None]
    spread = np.sqrt(log.propensities * (1 - log.propensities) / np.maximum(displays, 1))
    assert (np.abs(shown / displays - log.propensities) < 5 * spread + 1e-6).all()
    on = ("--log", "first.h5", "--data", "data.h5", "--canary", "second-canary.jsonl")
    found = run("gate", "run", *on, codes=(0, 3))
    assert found["decision"] == "ship"
    run("train", "--log", "second.h5", "--data", "data.h5", "--out", "again")
    again = shop.value(learned(shop, "again"))
    assert again > shop.value(shop.production)
