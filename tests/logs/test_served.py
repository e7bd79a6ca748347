"""Guards logs of the serving rule: exposure is exact, whatever was shown by chance."""

import json

import numpy as np
import pytest

import cltr
from cltr.errors import DataError
from cltr.logs.log_file import open_log
from cltr.policies import PlackettLuce
from cltr.serving import ServingRule
from cltr.types import Lists

QUERIES = {
    "shoes": {"a": (1.0, 3.0), "coin": (0.2, 2.0), "it's": (2.0, 1.0), "é ☃": (0.0, 0.5)},
    "select": {"new": (0.5, 0.1), "production": (1.5, 0.3), "7": (0.1, 0.2)},
}


def serve(folder, *, n=400, rule=None, interleaved=False):
    """Requests by the rule, and a click on the first place of every third; the rule."""
    rule = rule or ServingRule(share=0.3, production="sampled", top_k=2)
    records, clicks = [], []
    for number in range(n):
        query = list(QUERIES)[number % 2]
        new = {name: pair[0] for name, pair in QUERIES[query].items()}
        old = {name: pair[1] for name, pair in QUERIES[query].items()}
        how = rule.interleave if interleaved else rule.serve
        served = how(f"r-{number}", query, new=new, production=old)
        records.append(json.dumps(served.record(new, old, time="2026-01-31T12:00:00Z")))
        if number % 3 == 0:
            clicks.append(json.dumps({"request": f"r-{number}", "document": served.shown[0]}))
    (folder / "requests.jsonl").write_text("\n".join(records) + "\n")
    (folder / "clicks.jsonl").write_text("\n".join(clicks) + "\n")
    return rule


def ingested(folder, **options):
    files = [folder / "requests.jsonl", folder / "clicks.jsonl"]
    cltr.ingest(files, format="served", out=folder / "log.h5", **options)
    return open_log(folder / "log.h5")


def chances(query, documents, ranker, order, top_k=2):
    scores = np.array([QUERIES[query][name][ranker] for name in documents])
    lists = Lists.of_offsets(np.array([0, len(scores)]))
    if order == "sampled":
        return PlackettLuce().rank_distribution(scores, lists, top_k)
    ranks = np.argsort(np.argsort(-scores))
    return (ranks[:, None] == np.arange(top_k)).astype(float)


@pytest.mark.parametrize("production", ["sampled", "sorted"])
def test_exposure_is_that_of_the_mixture(tmp_path, production):
    rule = ServingRule(share=0.3, production=production, top_k=2, shares={"select": 0.9})
    serve(tmp_path, rule=rule)
    log = ingested(tmp_path)
    for number, query in enumerate(log.lists.query_ids.tolist()):
        rows = slice(*log.lists.offsets[number : number + 2])
        documents = log.lists.document_ids[rows].tolist()
        assert set(documents) <= QUERIES[query].keys()
        everyone = list(QUERIES[query])
        share = rule.share_of(query)
        mixed = share * chances(query, everyone, 0, "sampled") + (1 - share) * chances(
            query, everyone, 1, production
        )
        expected = [mixed[everyone.index(name)] for name in documents]
        np.testing.assert_allclose(log.propensities[rows], expected, atol=1e-12)


def test_exposure_is_what_was_shown_within_chance(tmp_path):
    serve(tmp_path, n=4000)
    log = ingested(tmp_path, test_share=0.0)
    shown = sum(part.impressions for part in log.statistics.values())
    displays = sum(part.displays_per_document for part in log.statistics.values())[:, None]
    deviation = np.sqrt(log.propensities * (1 - log.propensities) / displays)
    assert (np.abs(shown / displays - log.propensities) < 4.5 * deviation + 1e-9).all()


def test_a_share_that_rises_is_averaged_over_requests(tmp_path):
    serve(tmp_path, n=200, rule=ServingRule(share=0.1, production="sampled", top_k=2))
    first = (tmp_path / "requests.jsonl").read_text()
    serve(tmp_path, n=600, rule=ServingRule(share=0.8, production="sampled", top_k=2))
    later = (tmp_path / "requests.jsonl").read_text().splitlines()[200:]
    (tmp_path / "requests.jsonl").write_text(first + "\n".join(later) + "\n")
    log = ingested(tmp_path, on={"clicks-without-impression": "drop"})
    share = (200 * 0.1 + 400 * 0.8) / 600
    query = log.lists.query_ids.tolist().index("shoes")
    rows = slice(*log.lists.offsets[query : query + 2])
    names, everyone = log.lists.document_ids[rows].tolist(), list(QUERIES["shoes"])
    new, old = (chances("shoes", everyone, ranker, "sampled") for ranker in (0, 1))
    expected = [(share * new + (1 - share) * old)[everyone.index(name)] for name in names]
    np.testing.assert_allclose(log.propensities[rows], expected, atol=1e-12)


def test_clicks_and_production_scores_come_along(tmp_path):
    serve(tmp_path)
    log = ingested(tmp_path, sessions=True)
    assert sum(part.clicks.sum() for part in log.statistics.values()) == 134
    owners = np.repeat(log.lists.query_ids, log.lists.lists.lengths).tolist()
    pairs = zip(owners, log.lists.document_ids.tolist(), strict=True)
    assert log.scores.tolist() == [QUERIES[query][name][1] for query, name in pairs]


def test_training_uses_it_without_options(tmp_path):
    serve(tmp_path, n=2000)
    ingested(tmp_path)
    run = cltr.train(log=tmp_path / "log.h5", out=tmp_path / "run", reward="ips")
    assert run.result["exposure"] == "logged"


def test_interleaved_requests_are_counted(tmp_path):
    serve(tmp_path, interleaved=True)
    assert ingested(tmp_path).propensities is None


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"share": 1.5}, "'r-0' has a share that is not between 0 and 1"),
        ({"cltr": 2}, "'r-0' is not of version 1"),
        ({"new": [1.0]}, "'r-0' has other numbers of scores than documents"),
        ({"shown": ["nowhere"]}, "'r-0' shows a document that is no candidate"),
        ({"arm": "other"}, "'r-0' has no arm of the serving rule"),
        ({"request": "r-1"}, "'r-1' has several records"),
    ],
)
def test_a_wrong_record_is_refused(tmp_path, change, line):
    serve(tmp_path, n=20)
    path = tmp_path / "requests.jsonl"
    first, *rest = path.read_text().splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | change), *rest]) + "\n")
    with pytest.raises(DataError, match=line):
        ingested(tmp_path)


def test_clicks_must_be_there(tmp_path):
    serve(tmp_path, n=20)
    with pytest.raises(DataError, match="there are no clicks"):
        cltr.ingest(tmp_path / "requests.jsonl", format="served", out=tmp_path / "log.h5")
