"""Guards what the plain commands say where nothing can be learned: production, and the reason."""

import json

import numpy as np
import pytest

DOCUMENTS, SHOWN = 8, 5
SIGNAL = "Clicks do not distinguish the documents of a query"
NO_CLICKS = "There are no clicks in"
ONE_QUERY = "training clicks on 1 query: nothing can be learned about other queries"


def write_tables(queries, sessions, click):
    """A log, features and production's scores as CSV files; production samples."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(queries, DOCUMENTS))
    log = ["session,query,document,position,click"]
    features, production = ["query,document,x,y"], ["query,document,score"]
    for query, document in np.ndindex(scores.shape):
        name = f"q{query},q{query}d{document}"
        features.append(f"{name},{rng.normal():.4f},{1e6 * rng.random():.1f}")
        production.append(f"{name},{scores[query, document]:.4f}")
    for session in range(sessions):
        query = rng.integers(queries)
        order = np.argsort(-(scores[query] + rng.gumbel(size=DOCUMENTS)))[:SHOWN]
        for rank, document in enumerate(order):
            clicked = int(rng.random() < click(document, rank))
            log.append(f"s{session},q{query},q{query}d{document},{rank + 1},{clicked}")
    for name, lines in (("log", log), ("features", features), ("scores", production)):
        with open(f"{name}.csv", "w", encoding="utf-8") as file:
            file.write("\n".join(lines) + "\n")


def kept(cltr, words, reason):
    """Production is kept, exit code 0, and the last line has the reason."""
    done = cltr("train", *words, "--json")
    assert done.exit_code == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["verdict"], result["plan"]) == ("hold", "stay")
    assert result["metrics"]["policy"] == result["metrics"]["production"]
    assert result["certificate"]["train"]["worst_case"]["ndcg@5"]["loss"] == pytest.approx(0)
    assert reason in result["advice"]["sentence"]
    shown = " ".join(cltr("train", *words).stdout.split())
    assert reason in shown[shown.rindex("Verdict: hold. Keep production.") :]
    assert "The clip stopped learning" not in shown and "nan" not in shown.split()
    return result


@pytest.mark.parametrize(
    ("queries", "click", "reason"),
    [
        (40, lambda document, rank: 0.2, SIGNAL),
        (40, lambda document, rank: 0.5 / (rank + 1), SIGNAL),
        (40, lambda document, rank: 0.0, NO_CLICKS),
        (1, lambda document, rank: 0.8 * (document % 2) / (rank + 1), ONE_QUERY),
    ],
    ids=["random", "random by rank", "no clicks", "one query"],
)
def test_a_log(cltr, queries, click, reason):
    write_tables(queries, 1_500, click)
    assert cltr("data", "import", "features.csv", "--out", "data.h5").exit_code == 0
    words = ("ingest", "log.csv", "--data", "data.h5", "--production", "scores.csv")
    assert cltr(*words, "--out", "log.h5").exit_code == 0
    result = kept(cltr, ("--log", "log.h5", "--data", "data.h5"), reason)
    assert not any("fitted to them" in told for told in result["assumptions"])


@pytest.mark.parametrize(
    ("users", "reason"), [("trust-bias", SIGNAL), ("pbm", NO_CLICKS)], ids=["trust bias", "pbm"]
)
def test_labels_that_are_all_0(cltr, users, reason):
    rng = np.random.default_rng(0)
    with open("zero.txt", "w", encoding="utf-8") as file:
        for query, _ in np.ndindex(100, DOCUMENTS):
            values = " ".join(f"{k + 1}:{x:.3f}" for k, x in enumerate(rng.normal(size=3)))
            file.write(f"0 qid:{query} {values}\n")
    assert cltr("data", "import", "zero.txt", "--out", "zero.h5").exit_code == 0
    kept(cltr, ("--data", "zero.h5", "--users", users, "-n", "4000", "--no-skyline"), reason)


@pytest.mark.parametrize("model", ["trust-bias", "auto"])
@pytest.mark.parametrize(
    ("rate", "reason"), [(0.3, SIGNAL), (0.0, NO_CLICKS)], ids=["random", "no clicks"]
)
def test_simulated_users(cltr, monkeypatch, model, rate, reason):
    from tests import small

    data = small.dataset(120)
    monkeypatch.setattr("cltr.data.demo.demo_dataset", lambda: data)
    rates = f"users.rates={','.join([str(rate)] * SHOWN)}"
    words = ("--users", "rank-ctr", "-o", rates, "--click-model", model)
    kept(cltr, (*words, "-n", "8000", "--no-skyline"), reason)
