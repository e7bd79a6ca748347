"""Serving: ids decide, shares are kept, nothing collides, and files say what is wrong."""

import json
import subprocess
import sys

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.policies import PlackettLuce
from cltr.serving import ServingRule, StoredRanking, coin, interleave, noise, sample_ranking
from cltr.types import Lists

SCORES = {"a": 1.0, "b": 0.4, "c": 0.0, "d": -0.7}
BACKWARD = {name: -score for name, score in SCORES.items()}


def test_a_request_gets_the_same_ranking_again():
    rule = ServingRule(share=0.5, production="sampled")
    first, again = (
        [rule.serve(f"r{i}", "q", new=SCORES, production=BACKWARD) for i in range(50)]
        for _ in range(2)
    )
    assert first == again
    assert len({served.shown for served in first}) > 5


def test_order_of_the_candidates_changes_nothing():
    turned = dict(reversed(SCORES.items()))
    assert all(
        sample_ranking(SCORES, f"r{i}") == sample_ranking(turned, f"r{i}") for i in range(20)
    )


def test_places_come_as_often_as_expected_weights_say():
    n, top_k = 20_000, 2
    drawn = [sample_ranking(SCORES, f"request {i}", top_k=top_k) for i in range(n)]
    lists = Lists.of_offsets(np.array([0, 4]))
    exact = PlackettLuce().rank_distribution(np.array(list(SCORES.values())), lists, top_k)
    for place in range(top_k):
        counts = np.array([sum(one[place] == name for one in drawn) for name in SCORES])
        expected = n * exact[:, place]
        assert ((counts - expected) ** 2 / expected).sum() < 21.1  # p = 1e-4, 3 degrees


def test_the_coin_keeps_the_share():
    rule = ServingRule(share=0.06, shares={"head": 0.5})
    for query, share in (("tail", 0.06), ("head", 0.5)):
        arms = [
            rule.serve(f"r{i}", query, new=SCORES, production=BACKWARD).arm for i in range(10_000)
        ]
        error = np.sqrt(share * (1 - share) / len(arms))
        assert abs(arms.count("new") / len(arms) - share) < 4 * error


def test_no_document_can_decide_the_coin():
    named = {f"coin:r{i}": 0.0 for i in range(3)} | {"coin": 0.0, "": 0.0}
    drawn = noise("r1", named)
    assert len(set(drawn)) == len(drawn)
    assert not any(np.isclose(np.exp(-np.exp(-one)), coin("r1")) for one in drawn)


def test_numbers_of_different_uses_are_independent():
    pairs = np.array([[coin(f"r{i}"), coin(f"r{i}", use="ranking")] for i in range(5000)])
    assert abs(np.corrcoef(pairs.T)[0, 1]) < 0.06
    assert np.abs(pairs.mean(0) - 0.5).max() < 0.02


def test_stored_rankings_come_by_their_shares():
    stored = (StoredRanking(0.75, ("c", "b")), StoredRanking(0.25, ("gone", "d", "a")))
    rule = ServingRule(rankings={"q": stored}, top_k=3)
    shown = [rule.serve(f"r{i}", "q", new=SCORES, production=BACKWARD).shown for i in range(4000)]
    assert set(shown) == {("c", "b", "a"), ("d", "a", "b")}
    assert shown.count(("c", "b", "a")) / 4000 == pytest.approx(0.75, abs=0.03)


def test_team_draft_is_fair_and_complete():
    new, production = ["a", "b", "c", "d"], ["d", "c", "b", "a"]
    rounds = [interleave(new, production, f"r{i}", top_k=4) for i in range(2000)]
    assert all(sorted(one.shown) == new for one in rounds)
    assert all(one.teams.count("new") == 2 for one in rounds)
    first = sum(one.teams[0] == "new" for one in rounds) / 2000
    assert first == pytest.approx(0.5, abs=0.05)
    assert interleave(["a"], ["a"], "r", top_k=5).shown == ("a",)
    assert interleave([], ["a", "b"], "r", top_k=5).teams == ("production", "production")


def test_a_record_is_json_with_all_scores():
    rule = ServingRule(share=1.0, top_k=2)
    served = rule.serve("r", "q", new=SCORES, production=BACKWARD)
    record = json.loads(json.dumps(served.record(SCORES, BACKWARD, time="2026-01-31T00:00:00Z")))
    assert record["shown"] == list(served.shown)
    assert dict(zip(record["documents"], record["new"], strict=True)) == SCORES
    assert (record["arm"], record["share"], record["cltr"]) == ("new", 1.0, 1)


def test_a_rule_survives_its_file(tmp_path):
    rule = ServingRule(0.1, top_k=5, shares={"q": 0.2}, rankings={"q": (StoredRanking(1, ("a",)),)})
    rule.save(tmp_path / "rule.json")
    assert ServingRule.load(tmp_path / "rule.json") == rule


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "not a serving rule"),
        ("[1]", "not a serving rule"),
        ('{"version": 2}', "another version"),
        ('{"version": 1, "share": 2}', "must lie in"),
        ('{"version": 1, "share": "x"}', "must lie in"),
        ('{"version": 1, "new": "odd"}', "sampled or sorted"),
        ('{"version": 1, "top_k": 0}', "expected 1 or more"),
        ("[" * 100000, "nested too deep"),
        ('{"version": 1, "colour": 1}', "colour"),
        ('{"version": 1, "rankings": {"q": [{"share": 0.5, "documents": []}]}}', "add up to"),
    ],
)
def test_a_bad_file_is_one_line(tmp_path, text, message):
    (tmp_path / "rule.json").write_text(text)
    with pytest.raises(DataError, match=message):
        ServingRule.load(tmp_path / "rule.json")


def test_scores_that_are_missing_or_not_finite_are_named():
    rule = ServingRule()
    with pytest.raises(DataError, match="production has no score of document 'd'"):
        rule.serve("r", "q", new=SCORES, production={"a": 1, "b": 1, "c": 1})
    with pytest.raises(DataError, match="document 'a' has the score nan"):
        rule.serve("r", "q", new=SCORES | {"a": float("nan")}, production=SCORES)


def test_serving_imports_the_standard_library_only():
    code = "import sys, cltr.serving; print(*{n.partition('.')[0] for n in sys.modules})"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"numpy", "torch", "pydantic", "click"} & set(found.stdout.split())
