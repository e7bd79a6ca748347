"""Guards the shortest commands: nobody is hurt by more than she was told."""

import json

import pytest

from tests import judged, small

QUICK = ("-n", "20000", "--no-skyline", "-o", "training.epochs=5", "--reward", "ips")


@pytest.fixture
def demo(monkeypatch, tmp_path):
    """Enough queries for the checks to tell."""
    data = small.dataset(120)
    monkeypatch.setattr("cltr.data.demo.demo_dataset", lambda: data)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(cltr, *words):
    done = cltr(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def test_adversarial_users_leave_production_and_the_last_line_says_why(cltr, demo):
    words = ("train", "--users", "adversarial", *QUICK)
    result = run(cltr, *words)
    assert result["verdict"] == "hold" and result["plan"] == "stay"
    metrics = result["metrics"]
    assert metrics["policy"]["ndcg@5"] == metrics["production"]["ndcg@5"]
    shown = " ".join(cltr(*words).stdout.split())
    assert "Verdict: hold. Keep production." in shown
    assert shown.rindex("Verdict:") > shown.rindex("run:")


def test_a_log_is_corrected_by_a_fitted_click_model(cltr, demo):
    assert cltr("simulate", "--users", "pbm", "-n", "20000", "--out", "log.h5").exit_code == 0
    result = run(cltr, "train", "--log", "log.h5", *QUICK[2:], "--out", "run")
    assert result["click_model"].endswith(", fitted to these clicks")
    assert (
        "fitted to all 20,000 interactions of the training part" in result["click_model_notes"][0]
    )
    assert (demo / "run" / "click-model.h5").exists()
    again = run(cltr, "evaluate", "run")
    assert again["metrics"]["policy"] == result["metrics"]["policy"]
    assert again["off_policy"]["difference"] == result["off_policy"]["difference"]
    repeated = run(cltr, "train", "--config", "run/run.toml")
    assert small.same_numbers(repeated) == small.same_numbers(result)


def test_auto_needs_clicks_of_somebody(cltr, demo):
    done = cltr("train", "--click-model", "auto")
    assert done.exit_code != 0
    assert "say whose clicks: give a log, or simulated users" in done.stderr


@judged.needs_real
@pytest.mark.parametrize(
    "words",
    [("--users", "trust-bias"), ("--users", "pbm", "--click-model", "auto"), ("--users", "pbm")],
    ids=["as assumed", "fitted", "another model assumed"],
)
def test_raw_features_on_wild_scales_are_learned_from(cltr, demo, words):
    """They were not moved by at all, or ended far below production, without a word."""
    folder = judged.REAL / "mslr-sample"
    files = [("--train", "train"), ("--valid", "vali"), ("--test", "test")]
    given = [word for option, name in files for word in (option, folder / f"{name}.txt")]
    assert cltr("data", "import", *given, "--out", "mslr.h5").exit_code == 0
    quick = ("-n", "10000", "--no-skyline", "-o", "training.epochs=4")
    result = run(cltr, "train", "--data", "mslr.h5", *words, *quick)
    assert result["verdict"] in ("deploy", "canary", "hold")
    before, after = (result["metrics"][who]["ndcg@5"] for who in ("production", "policy"))
    if words == ("--users", "pbm"):  # trust bias is assumed, and the clicks contradict it
        assert after == before and result["plan"] == "stay"
        assert "Either the click model is wrong" in result["advice"]["sentence"]
        assert "click model" in result["advice"]["sentence"]
        return
    assert result["plan"] != "stay" and after != before
    assert after > 0.98 * before


def test_a_shop_is_told_the_truth(monkeypatch):
    """Features from 1e-4 to 1e7, text ids, production's scores, no labels: the plain commands."""
    from tests.safety_tables import shop, shops

    monkeypatch.setattr(shop, "QUERIES", 120)
    monkeypatch.setattr(shop, "SESSIONS", 12_000)
    found = shops.sell(1, variants=0)
    assert found.verdict in ("deploy", "canary")
    assert found.truth > 0.05 * found.production
    assert found.low <= found.truth <= found.high


@judged.needs_real
def test_the_tables_data_sets_can_be_opened(tmp_path):
    from tests.safety_tables.worlds import WORLDS

    real = [world for world in WORLDS.values() if world.name != "demo"]
    sizes = {world.name: [part.n_queries for part in world.parts(tmp_path)] for world in real}
    assert sizes == {"mq2008": [628], "mslr": [84] * 5, "lightgbm": [251] * 5}
