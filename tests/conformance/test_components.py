"""Guards every component that is registered, by whomever: each keeps its contract."""

import json

import pytest

from cltr import testing
from cltr.plugins import ROLES, registry


def names(role: str) -> list[str]:
    return registry().names(role)


def make(role: str, name: str, *parts):
    return registry().find(role, name)(*parts)


def bounded_reward():
    """Some reward that declares a variance bound, for estimators that demand one."""
    known = registry().components["reward"].values()
    return next(one[0][0]() for one in known if one[0][0].variance_factor is not None)


LOG = [
    {"session": f"s{i}", "query": f"q{i % 3}", "doc": f"d{d}", "position": d + 1, "click": i == d}
    for i in range(40)
    for d in range(4)
]
LISTS = [
    {"query": f"q{i % 3}", "documents": ["a", "b", "c", "d"], "clicks": [i == d for d in range(4)]}
    for i in range(40)
]
HITS = [
    {"query_id": f"i{i}", "user_query": f"q{i % 3}", "query_response_hit_ids": ["a", "b", "c", "d"]}
    for i in range(40)
]
EVENTS = [
    {
        "action_name": "click",
        "query_id": f"i{i}",
        "user_query": f"q{i % 3}",
        "event_attributes": {"object": {"object_id": "abcd"[i]}, "position": {"ordinal": i + 1}},
    }
    for i in range(4)
]
BANDIT = [
    {
        "timestamp": f"2020-01-01 0{i // 60}:{i % 60:02}:00",
        "item_id": i % 4,
        "position": i % 3 + 1,
        "click": int(i < 4),
        "propensity_score": 0.25,
    }
    for i in range(160)
]
FILES = {
    "long": {"log.jsonl": LOG},
    "list": {"log.jsonl": LISTS},
    "ubi": {"ubi_queries.jsonl": HITS, "ubi_events.jsonl": EVENTS},
    "open-bandit": {"all.jsonl": BANDIT},
}
"""What each log reader reads: always 160 impressions and 4 clicks."""


def test_there_is_something_of_every_role_and_nothing_is_broken():
    assert all(names(role) for role in ROLES if role != "command")  # those are only strangers'
    assert registry().warnings() == []


@pytest.mark.parametrize("name", names("click-model"))
def test_click_models(name):
    testing.check_click_model(make("click-model", name))


@pytest.mark.parametrize("name", names("reward"))
def test_rewards(name):
    testing.check_reward(make("reward", name))


@pytest.mark.parametrize("name", names("estimator"))
def test_estimators(name):
    testing.check_estimator(make("estimator", name, bounded_reward()))


@pytest.mark.parametrize("name", names("ranker"))
def test_rankers(name):
    testing.check_ranker(make("ranker", name))


@pytest.mark.parametrize("name", names("scorer"))
def test_scorers(name):
    testing.check_scorer(make("scorer", name))


@pytest.mark.parametrize("name", names("log-reader"))
def test_log_readers(name, tmp_path):
    for file, rows in FILES[name].items():
        (tmp_path / file).write_text("\n".join(map(json.dumps, rows)))
    testing.check_log_reader(
        make("log-reader", name),
        tmp_path,
        n_impressions=160,
        n_clicks=4,
        n_interactions=0 if name == "open-bandit" else 40,
    )


@pytest.mark.parametrize("role", ROLES)
def test_components_of_a_role_repeat_their_options(role):
    """What ``repr`` shows is what was chosen; a second one with the same options is the same."""
    for name in names(role):
        parts = (bounded_reward(),) if role == "estimator" else ()
        first, second = make(role, name, *parts), make(role, name, *parts)
        assert first.options == second.options
        assert repr(first) == repr(second)
        assert repr(first).startswith(f"{type(first).__name__}(")
