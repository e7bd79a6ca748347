"""Plugin files: one wrong class does not take the others along, and a changed file is noticed."""

from pathlib import Path
from unittest import mock

import pytest

from cltr.data.dataset_file import save_dataset
from cltr.plugins import registry
from tests import small
from tests.reliability.damage_plugin import GOOD
from tests.reliability.world import LITTLE, command

WORDS = ["--data", "data.h5", "--plugin", "mine.py", "--estimator", "mine", *LITTLE]
WRONG = GOOD.replace('class R(RewardFunction):\n    name = "mine"', "class R(RewardFunction):")


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("sys.dont_write_bytecode", True)  # a file changes within a second
    save_dataset(small.dataset(), "data.h5")
    yield
    registry.cache_clear()


def test_a_wrong_class_is_left_out_and_the_others_are_used():
    assert WRONG != GOOD
    Path("mine.py").write_text(WRONG)
    done = command("train", *WORDS, "--reward", "ips")
    assert done.exit_code == 0, done.stderr
    assert "this class is left out" in done.stderr
    missing = command("train", *WORDS, "--reward", "mine")
    assert missing.exit_code == 2
    assert "no reward named 'mine'" in missing.stderr
    assert "left out" in missing.stderr.splitlines()[-1]


def test_evaluate_mentions_a_plugin_file_that_has_changed():
    Path("mine.py").write_text(GOOD)
    assert command("train", *WORDS, "--reward", "ips", "--out", "run").exit_code == 0
    same = command("evaluate", "run", "--plugin", "mine.py", "--json")
    assert "has changed" not in same.stdout
    Path("mine.py").write_text(GOOD.replace("weights * rewards", "weights * rewards / 2"))
    other = command("evaluate", "run", "--plugin", "mine.py", "--json")
    assert "the plugin file mine.py has changed since this run" in other.stdout


def test_a_run_does_not_go_on_with_another_plugin_file():
    Path("mine.py").write_text(GOOD)
    with mock.patch("cltr.experiment.train_run.hand_over", side_effect=KeyboardInterrupt):
        command("train", *WORDS, "--reward", "ips", "--out", "run")
    Path("mine.py").write_text(GOOD + "\n# changed\n")
    done = command("train", "--resume", "run", "--plugin", "mine.py")
    assert done.exit_code == 1
    assert "mine.py: has changed since run was begun" in done.stderr
    Path("mine.py").write_text(GOOD)
    assert command("train", "--resume", "run", "--plugin", "mine.py").exit_code == 0
