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


def ga4_event(name, i, items):
    parameters = [{"key": "ga_session_id", "value": {"int_value": i}}]
    parameters.append({"key": "search_term", "value": {"string_value": f"q{i % 3}"}})
    return {
        "event_name": name,
        "event_timestamp": 1_700_000_000_000_000 + i * 60_000_000 + (name == "select_item"),
        "user_pseudo_id": f"u{i}",
        "event_params": parameters,
        "items": items,
    }


GA4 = [
    ga4_event(
        "view_item_list",
        i,
        [{"item_id": "abcd"[d], "item_list_index": str(d + 1)} for d in range(4)],
    )
    for i in range(40)
] + [ga4_event("select_item", i, [{"item_id": "abcd"[i]}]) for i in range(4)]
SHOWS = [{name: value for name, value in row.items() if name != "click"} for row in LOG]
CLICKS = [{name: row[name] for name in ("session", "doc")} for row in LOG if row["click"]]
SERVED = [
    {
        "cltr": 1,
        "request": f"r{i}",
        "query": f"q{i % 4}",
        "time": "",
        "arm": "production",
        "share": 0.0,
        "orders": ["sampled", "sorted"],
        "shown": ["a", "b", "c", "d"],
        "teams": [],
        "documents": ["d", "c", "b", "a"],
        "new": [0.0, 1.0, 2.0, 3.0],
        "production": [1.0, 2.0, 3.0, 4.0],
        "context": {},
    }
    for i in range(40)
]
SERVED_CLICKS = [{"request": f"r{i}", "document": "b"} for i in (1, 5, 9, 13)]
FILES = {
    "ga4": {"events.jsonl": GA4},
    "events": {"clicks.jsonl": CLICKS, "shows.jsonl": SHOWS},
    "long": {"log.jsonl": LOG},
    "list": {"log.jsonl": LISTS},
    "ubi": {"ubi_queries.jsonl": HITS, "ubi_events.jsonl": EVENTS},
    "open-bandit": {"all.jsonl": BANDIT},
    "served": {"requests.jsonl": SERVED, "clicks.jsonl": SERVED_CLICKS},
}
"""What each log reader reads: always 160 impressions and 4 clicks."""
SECOND = {"query": "q1", "document": "b", "position": 2, "click": True}
ROWS = {
    "events": SECOND | {"document": "d1"},
    "ga4": SECOND,
    "long": SECOND | {"document": "d1"},
    "list": SECOND,
    "ubi": SECOND,
    "open-bandit": {"document": "1", "position": 2, "click": True, "propensity": 0.25},
    "served": SECOND | {"score": 3.0, "arm": "production"},
}
"""One row that each of them must find there."""


def test_there_is_something_of_every_role_and_nothing_is_broken():
    assert all(names(role) for role in ROLES if role != "command")  # those are only strangers'
    assert registry().warnings() == []


@pytest.mark.parametrize("name", names("click-model"))
def test_click_models(name):
    model = make("click-model", name)
    testing.check_click_model(model, reversed_users=name == "adversarial")


@pytest.mark.parametrize("name", names("reward"))
def test_rewards(name):
    testing.check_reward(make("reward", name), uses_labels=name == "labels")


@pytest.mark.parametrize("name", names("estimator"))
def test_estimators(name):
    testing.check_estimator(make("estimator", name, bounded_reward()))


@pytest.mark.parametrize("name", names("ranker"))
def test_rankers(name):
    testing.check_ranker(make("ranker", name))


@pytest.mark.parametrize("name", names("scorer"))
def test_scorers(name):
    testing.check_scorer(make("scorer", name))


# Counts have no rows of impressions: tests/logs/test_portable_counts.py compares them with a log's.
@pytest.mark.parametrize("name", [name for name in names("log-reader") if name != "counts"])
def test_log_readers(name, tmp_path):
    for file, rows in FILES[name].items():
        (tmp_path / file).write_text("\n".join(map(json.dumps, rows)))
    testing.check_log_reader(
        make("log-reader", name),
        tmp_path,
        n_impressions=160,
        n_clicks=4,
        n_interactions=0 if name == "open-bandit" else 40,
        row=ROWS[name],
    )


@pytest.mark.parametrize("name", names("metric"))
def test_metrics(name):
    testing.check_metric(make("metric", name))


@pytest.mark.parametrize("name", names("exporter"))
def test_exporters(name):
    scorers = ("linear",) if name == "opensearch" else ("linear", "mlp")
    testing.check_exporter(make("exporter", name), scorers=scorers)


@pytest.mark.parametrize("name", names("finding"))
def test_questions(name):
    testing.check_question(make("finding", name))


@pytest.mark.parametrize("role", ROLES)
def test_components_of_a_role_repeat_their_options(role):
    """What ``repr`` shows is what was chosen; a second one with the same options is the same."""
    for name in names(role):
        parts = (bounded_reward(),) if role == "estimator" else ()
        first, second = make(role, name, *parts), make(role, name, *parts)
        assert first.options == second.options
        assert repr(first) == repr(second)
        assert repr(first).startswith(f"{type(first).__name__}(")
