"""Guards the verdict on a canary: what is read, what is refused, who may raise the share."""

import numpy as np
import pytest

from cltr.errors import DataError
from cltr.evaluation.bounds import Limits
from cltr.evaluation.canary_decision import CanaryRules, judge_canary_table
from cltr.evaluation.canary_tables import read_canary

CLICKS = CanaryRules(0.02, Limits(0.0, 1.0), 0.95)
ORDERS = CanaryRules(0.02, Limits(0.0, 1.0), 0.95, "orders")


def table(path, columns):
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def requests(path, *, effect, n=20_000, share=0.5, seed=0):
    rng = np.random.default_rng(seed)
    new = rng.random(n) < share
    outcome = (rng.random(n) < 0.3 + effect * new).astype(int)
    arms = np.where(new, "new", "production")
    return table(path, {"arm": arms, "share": [share] * n, "clicks": outcome, "orders": outcome})


@pytest.mark.parametrize(("effect", "decision"), [(0.1, "ship"), (-0.1, "stop")])
def test_outcomes_decide(tmp_path, effect, decision):
    path = requests(tmp_path / "c.csv", effect=effect)
    found = judge_canary_table(path, ORDERS, share=0.05, healthy=False)
    assert found.decision == decision
    assert found.share == {"ship": 1.0, "stop": 0.0}[decision]
    assert found.reasons[0].startswith("Level 1 (by clicks on what was shown; outcome: orders)")


def test_clicks_of_a_log_in_doubt_do_not_raise_the_share(tmp_path):
    path = requests(tmp_path / "c.csv", effect=0.1)
    doubted = judge_canary_table(path, CLICKS, share=0.05, healthy=False)
    assert (doubted.decision, doubted.share) == ("continue", 0.05)
    assert "clicks may not raise the share" in doubted.reasons[1]
    assert judge_canary_table(path, CLICKS, share=0.05, healthy=True).decision == "ship"


def test_clicks_of_a_log_in_doubt_may_stop(tmp_path):
    path = requests(tmp_path / "c.csv", effect=-0.1)
    assert judge_canary_table(path, CLICKS, share=0.05, healthy=False).decision == "stop"


def test_an_undecided_canary_may_go_as_far_as_the_tolerance(tmp_path):
    path = requests(tmp_path / "c.csv", effect=0.0, n=5000)
    found = judge_canary_table(path, ORDERS, share=0.05, healthy=False)
    assert found.decision == "continue"
    assert found.share == pytest.approx(max(0.05, 0.02 / -found.judged.low))
    assert found.share > 0.05


def test_interleaved_requests_in_order_of_arrival(tmp_path):
    path = table(
        tmp_path / "i.csv",
        {
            "request": ["b", "b", "a", "b", "a"],
            "team": ["new", "production", "production", "NEW", "new"],
            "click": [1, "true", 1, 1, 0],
        },
    )
    assert read_canary(path).credits == pytest.approx([1 / 3, -1.0])


@pytest.mark.parametrize(("wins", "decision"), [(0.6, "ship"), (0.4, "stop")])
def test_interleaving_decides(tmp_path, wins, decision):
    rng = np.random.default_rng(1)
    n = 5000
    team = np.where(rng.random(n) < wins, "new", "production")
    path = table(tmp_path / "i.csv", {"request": range(n), "team": team, "click": [1] * n})
    assert judge_canary_table(path, CLICKS, share=0.05, healthy=True).decision == decision
    doubted = judge_canary_table(path, CLICKS, share=0.05, healthy=False)
    assert doubted.decision == ("stop" if decision == "stop" else "continue")
    assert doubted.share == (0.0 if decision == "stop" else 0.05)


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        (
            {"arm": ["newer"], "share": [0.5], "clicks": [1]},
            "row 1: 'arm' is 'newer'; expected new",
        ),
        ({"arm": ["new"], "share": ["x"], "clicks": [1]}, "row 1: 'share' is no finite number"),
        ({"arm": ["new"], "share": [0.0], "clicks": [1]}, "although the share"),
        ({"arm": ["new"], "clicks": [1]}, "which column is the share"),
        ({"share": [0.5], "clicks": [1]}, "which column is the arm"),
        ({"arm": [], "share": [], "clicks": []}, "has no rows"),
    ],
)
def test_tables_that_are_no_canary(tmp_path, columns, words):
    path = table(tmp_path / "c.csv", columns)
    with pytest.raises(DataError, match=words) as error:
        judge_canary_table(path, CLICKS, share=0.05, healthy=True)
    assert str(error.value).startswith(str(path))
