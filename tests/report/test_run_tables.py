"""Guards what people read: the numbers of the result, and nothing where there is none."""

import io

import pytest
from rich.console import Console

from cltr.report.run_tables import gap_closed, result_tables

WORST = {"loss": 0.123, "at_most_1": 0.045, "at_most_3": 0.067, "largest_query": 0.9}
CERTIFICATE = {
    "ratio_min": 0.25,
    "documents_outside": 0.089,
    "worst_case": {
        "query_weights": "equal",
        "exposure": "exact",
        "kept_of_most_demoted": 0.25,
        "ndcg@5": WORST,
    },
}


def certificate(**worst) -> dict:
    case = CERTIFICATE["worst_case"]
    return {**CERTIFICATE, "worst_case": {**case, "ndcg@5": {**WORST, **worst}}}


def result(**changes) -> dict:
    base = {
        "estimator": "prpo",
        "reward": "dr",
        "ranker": "exact",
        "n_interactions": 1234567,
        "users": "adversarial",
        "data": "demo",
        "top_k": 5,
        "metrics": {
            "production": {"ndcg@5": 0.5, "train_ndcg@5": 0.4},
            "policy": {"ndcg@5": 0.6, "train_ndcg@5": 0.45},
            "skyline": {"ndcg@5": 0.75, "train_ndcg@5": 0.8},
        },
        "certificate": {"train": CERTIFICATE, "test": certificate(loss=0.321)},
        "clip_fraction": 0.0171,
        "run": "runs/001-prpo-dr",
    }
    return {**base, **changes}


def printed(value: dict) -> str:
    console = Console(file=io.StringIO(), width=120)
    for part in result_tables(value):
        console.print(part)
    return console.file.getvalue()


def row(text: str, title: str) -> list[str]:
    """The cells of the row that begins with a title."""
    rows = [line.strip("│ ").split("│") for line in text.splitlines() if "│" in line]
    cells = next(cells for cells in rows if title in cells[0])
    return [cell.strip() for cell in cells[1:]]


def test_the_head_says_what_was_run():
    text = printed(result())
    assert "method prpo, reward dr, exact gradients, 1,234,567 interactions" in text
    assert "of simulated users (adversarial), data demo" in text
    assert "run: runs/001-prpo-dr" in text
    assert "requests" not in text


def test_rivals_stand_side_by_side():
    text = printed(result())
    assert row(text, "production")[:2] == ["0.5000", "0.4000"]
    assert row(text, "new policy") == ["0.6000", "0.4500", "+0.1000 (+20.0%)"]
    assert row(text, "trained on true labels") == ["0.7500", "0.8000", "+0.2500 (+50.0%)"]
    assert "the new policy closes 40% of the gap between production and a ranker" in text


def test_the_worst_case_is_shown_for_both_splits_in_points_of_the_metric():
    text = printed(result())
    assert "how far NDCG@5 could fall below production, whatever users find relevant" in text
    assert row(text, "any documents relevant") == ["32.1 points", "12.3 points"]
    assert row(text, "at most 1 document relevant") == ["4.5 points", "4.5 points"]
    assert row(text, "at most 3 documents relevant") == ["6.7 points", "6.7 points"]
    assert row(text, "the most affected query") == ["90.0 points", "90.0 points"]
    flat = " ".join(text.split())
    kept = "The hardest-hit document keeps 25% of the exposure that production gave it."
    moved = "8.9% of the documents moved beyond the clip, the limit up to which training rewards"
    assert f"{kept} {moved} a move. All queries count equally." in flat
    assert "equally. Production's exposure is computed from production's scores." in flat
    assert "The clip stopped learning for 1.7% of the rewarded documents" in flat


def test_the_basis_of_the_worst_case_is_named():
    case = {**CERTIFICATE["worst_case"], "query_weights": "traffic", "exposure": "counted"}
    found = {**CERTIFICATE, "worst_case": {**case, "kept_of_most_demoted": 1e-9}}
    flat = " ".join(printed(result(certificate={"train": found, "test": None})).split())
    assert "Worst case on training queries: The hardest-hit document keeps less than" in flat
    assert "Queries count by their traffic" in flat
    assert "counted from the log, so it is an estimate" in flat
    assert "keeps less than 0.01% of the exposure that production gave it." in flat
    assert "test queries:" not in flat


@pytest.mark.parametrize(
    ("kept", "outside", "said"),
    [
        (1.0, 0.0, "No document loses exposure. No document moved beyond the clip"),
        (0.9999, 0.0001, "keeps more than 99.9% of the exposure that production gave it. Less"),
    ],
)
def test_splits_with_the_same_basis_are_told_together(kept, outside, said):
    case = {**CERTIFICATE["worst_case"], "kept_of_most_demoted": kept}
    found = {**CERTIFICATE, "worst_case": case, "documents_outside": outside}
    flat = " ".join(printed(result(certificate={"train": found, "test": found})).split())
    assert flat.count("Worst case on") == 1
    assert said in flat


def test_what_there_is_not_is_not_shown():
    bare = {**CERTIFICATE, "documents_outside": None}
    text = printed(result(certificate={"train": bare, "test": bare}, clip_fraction=None))
    assert "clip" not in text


def test_what_cannot_be_true_is_said_first():
    text = printed(
        result(alerts=["The estimates are not usable: minus one."], warnings=["careful"])
    )
    assert text.index("not usable") < text.index("careful") < text.index("change against")


def test_a_policy_that_is_worse_is_said_to_be_so():
    value = result()
    value["metrics"]["policy"]["ndcg@5"] = 0.4
    assert "The new policy is worse than production." in printed(value)


def test_a_blend_and_unknown_users_are_named():
    text = " ".join(printed(result(blend=0.125, users=None)).split())
    assert "shown to 12.5% of requests, production to the rest" in text
    assert "interactions of the users of the log" in text


@pytest.mark.parametrize(
    ("policy", "skyline", "closed"), [(0.6, 0.75, 0.4), (0.4, 0.75, -0.4), (0.6, 0.5, None)]
)
def test_the_share_of_the_gap_that_was_closed(policy, skyline, closed):
    value = result()
    value["metrics"]["policy"]["ndcg@5"] = policy
    value["metrics"]["skyline"]["ndcg@5"] = skyline
    found = gap_closed(value)
    assert found is None if closed is None else found == pytest.approx(closed)


def test_without_a_skyline_there_is_no_gap():
    value = result()
    del value["metrics"]["skyline"]
    assert gap_closed(value) is None
    assert "gap" not in printed(value)


def test_a_production_of_0_is_no_trouble():
    value = result()
    value["metrics"]["production"]["ndcg@5"] = 0.0
    assert row(printed(value), "new policy")[2] == "+0.6000"


def estimate(value: float, **changes) -> dict:
    fields = {"value": value, "standard_error": 0.01, "low": value - 0.02, "high": value + 0.02}
    return fields | {"target": "new queries", "no_interval_because": None} | changes


def test_a_missing_interval_is_explained_once_for_each_reason():
    without = {"standard_error": None, "low": None, "high": None}
    few = estimate(0.7, **without, no_interval_because="too few clicks decide")
    values = {"production": estimate(0.5), "policy": few, "difference": few | {"value": 0.2}}
    values |= {"reward": "ips", "n_interactions": 1000}
    logged = {"policy": {"value": 0.7}, "production": {"value": 0.5}}
    text = printed(
        result(metrics=logged, off_policy=values, metric="dcg", click_model="pbm", users="unknown")
    )
    assert row(text, "production")[1:] == ["0.0100", "0.4800 to 0.5200"]
    assert row(text, "new policy") == ["0.7000", "unknown", "none"]
    sentence = "These clicks support no interval (new policy, difference): too few clicks decide."
    assert text.count(sentence) == 1
