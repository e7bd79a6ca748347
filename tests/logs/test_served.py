"""Guards logs of the serving rule: exposure is exact, whatever was shown by chance."""

import json

import numpy as np
import pytest

import cltr
from cltr.errors import DataError
from cltr.logs.log_file import open_log
from cltr.policies import PlackettLuce
from cltr.serving import ServingRule, StoredRanking
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


def of_query(log, query, values):
    """Rows of one query, by document."""
    number = log.lists.query_ids.tolist().index(query)
    rows = slice(*log.lists.offsets[number : number + 2])
    return dict(zip(log.lists.document_ids[rows].tolist(), values[rows], strict=True))


RANKINGS = {
    "shoes": (
        StoredRanking(0.25, ("é ☃", "a", "gone")),
        StoredRanking(0.75, ("it's", "coin", "a", "é ☃")),
    )
}


def test_exposure_of_stored_rankings_is_exact(tmp_path):
    serve(tmp_path, rule=ServingRule(share=0.4, top_k=2, rankings=RANKINGS))
    found = of_query(*(log := ingested(tmp_path), "shoes", log.propensities))
    # Production sorts: a, coin. Of the stored rankings, the first has é ☃ and a.
    expected = {"é ☃": [0.1, 0], "a": [0.6, 0.1], "it's": [0.3, 0], "coin": [0, 0.3 + 0.6]}
    assert found.keys() == expected.keys()
    for name, row in expected.items():
        np.testing.assert_allclose(found[name], row, atol=1e-12)


def test_records_that_lack_their_stored_rankings_are_counted(tmp_path):
    serve(tmp_path, n=60, rule=ServingRule(share=0.4, top_k=2, rankings=RANKINGS))
    path = tmp_path / "requests.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("\n".join(json.dumps(one | {"rankings": None}) for one in lines) + "\n")
    log = ingested(tmp_path)
    assert log.propensities is None
    assert "exposure is counted: 30 records name stored rankings" in log.description["notes"][0]


@pytest.mark.parametrize(
    ("rule", "drawn"),
    [
        (ServingRule(new="sorted", top_k=3), False),
        (ServingRule(new="sampled", top_k=2), True),
        (ServingRule(new="sampled", production="sampled", top_k=2), True),
        (ServingRule(top_k=2, rankings=RANKINGS), True),
    ],
)
def test_exposure_of_team_drafts_is_what_is_shown_within_chance(tmp_path, rule, drawn):
    serve(tmp_path, rule=rule, interleaved=True)
    log = ingested(tmp_path)
    assert any("draws a query" in note for note in log.description["notes"]) == drawn
    n = 5_000
    for query, documents in QUERIES.items():
        new, old = ({name: pair[at] for name, pair in documents.items()} for at in (0, 1))
        counts = {name: np.zeros(rule.top_k) for name in documents}
        for number in range(n):
            shown = rule.interleave(f"other-{number}", query, new=new, production=old).shown
            for place, name in enumerate(shown):
                counts[name][place] += 1
        found = of_query(log, query, log.propensities)
        assert found.keys() == documents.keys()
        for name, row in found.items():
            spread = np.sqrt(row * (1 - row) * (1 / n + drawn / 4096))
            assert (np.abs(counts[name] / n - row) <= 4.5 * spread + 1e-9).all()


def test_coins_of_fixed_rankings_are_counted_to_the_end(tmp_path):
    """Two fixed rankings and two rounds have four patterns of coins."""
    serve(tmp_path, rule=ServingRule(new="sorted", top_k=3), interleaved=True)
    log = ingested(tmp_path)
    assert np.array_equal(log.propensities * 4, np.round(log.propensities * 4))
    np.testing.assert_allclose(of_query(log, "shoes", log.propensities)["a"], [0.5, 0.5, 0])


def test_each_part_has_the_exposure_of_its_own_requests(tmp_path):
    """The share rises while the log grows, and test is what came last."""
    lines, clicks = [], []
    for share, month in ((0.1, 1), (0.5, 3), (0.9, 6)):
        serve(tmp_path, rule=ServingRule(share=share, production="sampled", top_k=2), n=300)
        for line in (tmp_path / "requests.jsonl").read_text().splitlines():
            one = json.loads(line)
            name = f"{month}-{one['request']}"
            lines.append(one | {"request": name, "time": f"2026-0{month}-01T00:00:00Z"})
        for line in (tmp_path / "clicks.jsonl").read_text().splitlines():
            one = json.loads(line)
            clicks.append(one | {"request": f"{month}-{one['request']}"})
    for name, rows in (("requests", lines), ("clicks", clicks)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    window = {"valid_from": "2026-02-01", "test_from": "2026-05-01"}
    log = ingested(tmp_path, split_by="time", **window)
    everyone = list(QUERIES["shoes"])
    new, old = (chances("shoes", everyone, ranker, "sampled") for ranker in (0, 1))
    for part, share in {"train": 0.1, "valid": 0.5, "test": 0.9}.items():
        found = of_query(log, "shoes", log.part_propensities[part])
        expected = share * new + (1 - share) * old
        for name, row in zip(everyone, expected, strict=True):
            np.testing.assert_allclose(found[name], row, atol=1e-12)
    found = of_query(log, "shoes", log.propensities)
    for name, row in zip(everyone, 0.5 * new + 0.5 * old, strict=True):
        np.testing.assert_allclose(found[name], row, atol=1e-12)


def test_requests_that_show_less_expose_less(tmp_path):
    serve(tmp_path, n=40, rule=ServingRule(0.0, production="sampled", top_k=2))
    path = tmp_path / "requests.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    for one in lines[:20]:
        one["shown"] = one["shown"][:1]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    found = of_query(*(log := ingested(tmp_path), "shoes", log.propensities))
    whole = chances("shoes", list(QUERIES["shoes"]), 1, "sampled")
    np.testing.assert_allclose(np.array([*found.values()]).sum(0), [1, 0.5])
    np.testing.assert_allclose(found["a"], whole[0] * [1, 0.5], atol=1e-12)


def test_candidates_that_were_never_shown_are_in_the_log(tmp_path):
    serve(tmp_path, n=30, rule=ServingRule(0.0, top_k=2))
    log = ingested(tmp_path)
    assert sorted(log.lists.document_ids.tolist()) == sorted(
        name for documents in QUERIES.values() for name in documents
    )
    assert of_query(log, "shoes", log.scores)["é ☃"] == 0.5
    assert of_query(log, "shoes", log.propensities)["é ☃"].tolist() == [0, 0]


def test_training_equals_training_with_known_scores(tmp_path):
    """The same log once more as a table, with production's scores beside it."""
    serve(tmp_path, n=3000, rule=ServingRule(0.0, production="sampled", top_k=2))
    ingested(tmp_path)
    clicks = {
        (one["request"], one["document"])
        for one in map(json.loads, (tmp_path / "clicks.jsonl").read_text().splitlines())
    }
    rows = []
    for one in map(json.loads, (tmp_path / "requests.jsonl").read_text().splitlines()):
        for position, name in enumerate(one["shown"], 1):
            key = {"session": one["request"], "query": one["query"], "document": name}
            clicked = int((one["request"], name) in clicks)
            rows.append(key | {"position": position, "click": clicked})
    scores = [
        {"query": query, "document": name, "score": pair[1]}
        for query, documents in QUERIES.items()
        for name, pair in documents.items()
    ]
    for name, lines in (("log", rows), ("scores", scores)):
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")
    production = tmp_path / "scores.jsonl"
    cltr.ingest(tmp_path / "log.jsonl", production=production, out=tmp_path / "known.h5")
    how = {"scorer": "table", "click_model": "trust-bias", "estimator": "plain"}
    how["options"] = {"training.epochs": 5}
    served, known = (
        cltr.train(log=tmp_path / f"{name}.h5", out=tmp_path / name, **how)
        for name in ("log", "known")
    )
    assert (served.result["exposure"], known.result["exposure"]) == ("logged", "exact")
    first, second = (run.rank().table().to_pydict() for run in (served, known))
    assert np.ptp(np.array(first["score"])) > 0.1
    assert first["document"] == second["document"]
    np.testing.assert_allclose(first["score"], second["score"], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("change", "line"),
    [
        ({"share": 1.5}, "'r-0' has a share that is not between 0 and 1"),
        ({"cltr": 2}, "'r-0' is not of version 1"),
        ({"new": [1.0]}, "'r-0' has other numbers of scores than documents"),
        ({"shown": ["nowhere"]}, "'r-0' shows a document that is no candidate"),
        ({"arm": "other"}, "'r-0' has no arm of the serving rule"),
        ({"request": "r-1"}, "'r-1' has several records"),
        ({"orders": ["sampled"]}, "'r-0' does not say how its two rankers rank"),
        (
            {"orders": ["stored", "sorted"], "rankings": [{"share": 0.5, "documents": ["a"]}]},
            "query 'shoes' has stored rankings whose shares add up to 0.5, not 1",
        ),
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
    with pytest.raises(DataError, match="no file has clicks"):
        cltr.ingest(tmp_path / "requests.jsonl", format="served", out=tmp_path / "log.h5")
