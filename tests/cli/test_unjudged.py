"""Guards that judgements are optional: nothing is said, trained or split off that needs them."""

import json

import numpy as np
import pandas as pd
import pytest

from cltr.data.frames import read_dataset
from cltr.data.importing import save_dataset
from cltr.evaluation.metrics import measure
from cltr.experiment.label_training import has_labels
from cltr.policies import PlackettLuce
from cltr.policies.on_dataset import ScoredPolicy

N_QUERIES, LENGTH, TOP_K, SESSIONS = 12, 6, 3, 40
FAST = ("-o", "training.epochs=2", "--click-model", "pbm", "--top-k", str(TOP_K))


def shop():
    """Features of a shop's documents."""
    rng = np.random.default_rng(1)
    n = N_QUERIES * LENGTH
    queries = np.repeat([f"the query {i}" for i in range(N_QUERIES)], LENGTH)
    documents = np.tile([f"d{i}" for i in range(LENGTH)], N_QUERIES)
    return pd.DataFrame({"query": queries, "document": documents, "x": rng.normal(size=n)})


def clicks():
    """A row for each document that was shown, in a random order."""
    rng = np.random.default_rng(2)
    rows = []
    for number in range(N_QUERIES * SESSIONS):
        query = f"the query {number % N_QUERIES}"
        for rank, document in enumerate(rng.permutation(LENGTH)[:TOP_K], start=1):
            click = rng.random() < 0.9 / rank * (0.2 + 0.7 * (document % 2))
            rows.append((number, query, f"d{document}", rank, int(click)))
    return pd.DataFrame(rows, columns=["session", "query", "document", "position", "click"])


@pytest.fixture
def logged(cltr, here):
    """A data set without judgements, and a log on it."""
    shop().to_parquet(here / "shop.parquet")
    clicks().to_parquet(here / "clicks.parquet")
    for command in (
        ("data", "import", "shop.parquet", "--out", "shop.h5"),
        ("ingest", "clicks.parquet", "--data", "shop.h5", "--out", "log.h5", "--json"),
    ):
        done = cltr(*command)
        assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_every_interaction_is_in_one_part_of_the_log(logged):
    assert sum(logged["n_interactions"].values()) == N_QUERIES * SESSIONS
    assert set(logged["n_interactions"]) == {"train", "valid", "test"}
    assert "test-queries" not in {problem["problem"] for problem in logged["problems"]}


def test_documents_that_were_never_shown_are_counted_once(cltr, here, logged):
    few = clicks().query("document != 'd5'")
    few.to_parquet(here / "few.parquet")
    done = cltr("ingest", "few.parquet", "--data", "shop.h5", "--out", "few.h5", "--json")
    counts = {row["problem"]: row["count"] for row in json.loads(done.stdout)["problems"]}
    assert counts["unshown-documents"] == N_QUERIES


def test_a_run_shows_no_metric_on_labels_and_trains_no_reference(cltr, here, logged):
    done = cltr("train", "--log", "log.h5", "--data", "shop.h5", *FAST, "--out", "run")
    assert done.exit_code == 0, done.stderr
    assert "NDCG@3 test" not in done.stdout
    assert "true labels" not in done.stdout
    assert "skyline" not in done.stderr
    result = json.loads((here / "run" / "result.json").read_text())
    assert result["n_interactions"] == logged["n_interactions"]["train"]
    assert set(result["metrics"]) == {"production", "policy"}
    assert not any("ndcg" in name for name in result["metrics"]["policy"])
    again = cltr("evaluate", "run")
    assert again.exit_code == 0, again.stderr
    assert "NDCG@3 test" not in again.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("simulate", "-n", "100", "--out", "sim.h5"),
        ("train", "--out", "run"),
        ("compare", "-m", "prpo/dr", "-n", "100", "--seeds", "1", "--out", "study"),
    ],
)
def test_simulated_users_are_refused(cltr, here, command):
    save_dataset(read_dataset(shop()), here / "shop.h5")
    done = cltr(*command, "--data", "shop.h5")
    assert done.exit_code != 0
    assert "simulated users need judgements, but 12 of 12 queries have none" in done.stderr


def test_a_reward_from_labels_is_refused(cltr, logged):
    done = cltr("train", "--log", "log.h5", "--data", "shop.h5", "--reward", "labels")
    assert done.exit_code == 1
    assert "--reward labels needs judgements" in done.stderr


def test_info_says_that_there_are_none(cltr, logged):
    assert "no judgements" in cltr("data", "info", "shop.h5").stdout


def test_a_file_that_must_be_imported_first_is_named(cltr, here):
    shop().to_parquet(here / "shop.parquet")
    (here / "S1.txt").write_text("1 qid:1 1:2\n")
    for name in ("shop.parquet", "S1.txt"):
        done = cltr("train", "--data", name)
        assert done.exit_code == 1
        assert f"import it first: cltr data import {name} --out data.h5" in done.stderr


def test_metrics_are_means_over_judged_queries():
    labels = np.tile([2.0, 0, 1, 0, 0, 1], N_QUERIES)
    judged = np.repeat(np.arange(N_QUERIES) % 3 == 0, LENGTH)
    frame = shop().assign(label=np.where(judged, labels, np.nan), split="train")
    everything = {"split_column": "split", "valid_share": 0.1, "test_share": 0.1}
    partly = read_dataset(frame, **everything)
    assert has_labels(partly) == partly.part("valid").judged
    training = partly.part("train")
    which = training.judged_queries
    found = measure(ScoredPolicy(training, training.features[:, 0], PlackettLuce()), top_k=3)
    complete = read_dataset(frame.assign(label=labels), **everything).part("train")
    policy = ScoredPolicy(complete, complete.features[:, 0], PlackettLuce())
    assert found == measure(policy, top_k=3, queries=which)
    none = read_dataset(shop())
    policy = ScoredPolicy(none, none.features[:, 0], PlackettLuce())
    assert set(measure(policy, top_k=3).values()) == {None}


def test_a_run_on_a_set_that_is_judged_in_part_says_so(cltr, here):
    """Judges looked at test queries only: no reference is trained, and NDCG is on those."""
    frame = shop()
    number = frame["query"].str.split().str[-1].astype(int)
    split = np.select([number < 6, number < 8], ["train", "valid"], "test")
    judged = (split == "test") & (number != 11)
    frame = frame.assign(split=split, grade=np.where(judged, frame.index % 3, np.nan))
    save_dataset(read_dataset(frame), here / "shop.h5")
    clicks().to_parquet(here / "clicks.parquet")
    assert cltr("ingest", "clicks.parquet", "--data", "shop.h5", "--out", "log.h5").exit_code == 0
    done = cltr("train", "--log", "log.h5", "--data", "shop.h5", *FAST, "--out", "run")
    assert done.exit_code == 0, done.stderr
    assert "NDCG is the mean over the 3 of 4 test queries with judgements." in done.stdout
    metrics = json.loads((here / "run" / "result.json").read_text())["metrics"]
    assert "skyline" not in metrics
    assert 0 < metrics["policy"]["ndcg@3"] <= 1
    assert metrics["policy"]["train_ndcg@3"] is None
