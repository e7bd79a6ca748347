"""Guards what people read: the numbers of the result, and nothing where there is none."""

import io

import pytest
from rich.console import Console

from cltr.report.run_tables import gap_closed, result_tables

CERTIFICATE = {
    "ratio_min": 0.25,
    "ratio_min_p50": 0.5,
    "ratio_max": float("inf"),
    "worst_loss": 0.123,
    "worst_loss_1": 0.045,
    "worst_loss_3": 0.067,
    "documents_outside": 0.089,
    "queries_outside": 0.5,
}


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
        "certificate": {"train": CERTIFICATE, "test": {**CERTIFICATE, "worst_loss": 0.321}},
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
    assert "prpo over dr by exact, 1,234,567 interactions, users adversarial, data demo" in text
    assert "run: runs/001-prpo-dr" in text
    assert "served" not in text


def test_rivals_stand_side_by_side():
    text = printed(result())
    assert row(text, "production")[:2] == ["0.5000", "0.4000"]
    assert row(text, "new policy") == ["0.6000", "0.4500", "+0.1000 (+20.0%)"]
    assert row(text, "skyline") == ["0.7500", "0.8000", "+0.2500 (+50.0%)"]
    assert "40% of the gap to the skyline closed" in text


def test_the_certificate_is_shown_for_both_splits():
    text = printed(result())
    assert row(text, "worst loss, share of the metric") == ["32.1%", "12.3%"]
    assert row(text, "if one document is relevant") == ["4.5%", "4.5%"]
    assert row(text, "if three are") == ["6.7%", "6.7%"]
    assert row(text, "smallest weight ratio, all queries") == ["0.25", "0.25"]
    assert row(text, "documents outside the band") == ["8.9%", "8.9%"]
    assert row(text, "rewarded documents past the clip") == ["", "1.7%"]


def test_what_there_is_not_is_not_shown():
    bare = {**CERTIFICATE, "documents_outside": None, "queries_outside": None}
    text = printed(result(certificate={"train": bare, "test": bare}, clip_fraction=None))
    assert "band" not in text
    assert "past the clip" not in text


def test_a_blend_and_unknown_users_are_named():
    text = " ".join(printed(result(blend=0.125, users=None)).split())
    assert "served in 12.5% of the cases" in text
    assert "users unknown" in text


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
