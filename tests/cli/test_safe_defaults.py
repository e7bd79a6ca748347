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
    assert "was fitted to 20,000 training interactions" in result["click_model_notes"][0]
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
def test_the_tables_data_sets_can_be_opened(tmp_path):
    from tests.safety_tables.worlds import WORLDS

    real = [world for world in WORLDS.values() if world.name != "demo"]
    sizes = {world.name: [part.n_queries for part in world.parts(tmp_path)] for world in real}
    assert sizes == {"mq2008": [628], "mslr": [84] * 5, "lightgbm": [251] * 5}
