"""Guards layouts that others publish: OpenSearch UBI and Open Bandit."""

import pytest

from cltr.logs.published_formats import OpenBanditReader, UbiReader
from tests.logs.reading import LOG, read, refusal
from tests.plain_logs import write_jsonl

HITS = [
    {
        "query_id": f"i{i}",
        "user_query": "tea",
        "client_id": "c",
        "timestamp": "2024-01-01T00:00:00Z",
        "query_response_hit_ids": ["a", "b", "c"],
    }
    for i in range(3)
]


def event(action, i, doc, ordinal=None):
    position = {} if ordinal is None else {"position": {"ordinal": ordinal}}
    return {
        "action_name": action,
        "query_id": f"i{i}",
        "client_id": "c",
        "user_query": "tea",
        "event_attributes": {"object": {"object_id": doc}, **position},
    }


EVENTS = [
    event("click", 0, "b", 2),
    event("click", 0, "b", 2),
    event("hover", 1, "c"),
    event("click", 2, "elsewhere", 9),
]


def write_ubi(folder, hits, events, *, wrapped=False):
    wrap = (lambda row: {"_index": "i", "_source": row}) if wrapped else (lambda row: row)
    if hits:
        write_jsonl(folder / "ubi_queries.jsonl", map(wrap, hits))
    write_jsonl(folder / "ubi_events.jsonl", map(wrap, events))
    return folder


@pytest.mark.parametrize("wrapped", [False, True], ids=["plain", "exported"])
def test_hits_are_shown_and_click_events_are_clicks(tmp_path, wrapped):
    found = read(UbiReader(), write_ubi(tmp_path, HITS, EVENTS, wrapped=wrapped))
    shown = [row for row in found if row["position"] is not None]
    assert len(shown) == 9
    assert [(r["session"], r["document"], r["position"]) for r in shown if r["click"]] == [
        ("i0", "b", 2)
    ]
    (orphan,) = [row for row in found if row["position"] is None]
    assert (orphan["session"], orphan["document"], orphan["query"]) == ("i2", "elsewhere", "tea")
    assert {row["user"] for row in shown} == {"c"}


def test_impressions_may_be_events(tmp_path):
    events = [event("impression", 0, d, o) for o, d in enumerate("abc")] + [
        event("click", 0, "c", 2)
    ]
    reader = UbiReader(positions_from=0)
    found = read(reader, write_ubi(tmp_path, [], events))
    assert [(r["document"], r["position"], r["click"]) for r in found] == [
        ("a", 1, False),
        ("b", 2, False),
        ("c", 3, True),
    ]
    both = read(UbiReader(shown="events", positions_from=0), write_ubi(tmp_path, HITS, events))
    assert len([r for r in both if r["position"] is not None]) == 3


def test_other_actions_may_be_clicks(tmp_path):
    found = read(UbiReader(clicks=["hover"]), write_ubi(tmp_path, HITS, EVENTS))
    assert [(r["session"], r["document"]) for r in found if r["click"]] == [("i1", "c")]


def test_what_is_missing_of_ubi_is_said(tmp_path):
    queries = write_jsonl(tmp_path / "q.jsonl", HITS)
    events = write_jsonl(tmp_path / "e.jsonl", EVENTS)
    other = write_jsonl(tmp_path / "o.jsonl", LOG)
    bare = write_jsonl(tmp_path / "b.jsonl", [{"action_name": "click", "query_id": "i0"}])
    assert "the files hold no ubi_events" in refusal(UbiReader(), queries)
    assert "the files hold no ubi_queries" in refusal(UbiReader(shown="hits"), events)
    assert "is neither ubi_queries" in refusal(UbiReader(), other, events)
    assert "have no event_attributes.object.object_id" in refusal(UbiReader(), bare)


def test_open_bandit_campaigns_are_queries(tmp_path):
    head = ",timestamp,item_id,position,click,propensity_score,user_feature_0\n"
    for name in ("men", "women"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / f"{name}.csv").write_text(head + "0,2019-11-24 00:00:00+00:00,5,1,0,0.25,u\n")
        (folder / "item_context.csv").write_text(",item_id\n0,0\n")
    found = read(OpenBanditReader(), tmp_path)
    assert [row["query"] for row in found] == ["men", "women"]
    assert {"document": "5", "position": 1, "propensity": "0.25"}.items() <= found[0].items()
    assert "session" not in found[0]
    by_user = read(OpenBanditReader(query_column="user_feature_0"), tmp_path)
    assert [row["query"] for row in by_user] == ["u", "u"]
    other = tmp_path / "other.csv"
    other.write_text("item_id\n1\n")
    assert "has no column timestamp, position" in refusal(OpenBanditReader(), other)
    assert "holds no impressions" in refusal(
        OpenBanditReader(), tmp_path / "men" / "item_context.csv"
    )
