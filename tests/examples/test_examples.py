"""Guards: the scripts in examples/ run and print what their heads say."""

import os
import subprocess
import sys

import pytest

from tests.example_files import EXAMPLES, load


def test_training_table_has_a_row_per_ranker_and_resumes(tmp_path, monkeypatch, capsys):
    table, out = load("training_table"), tmp_path / "results.csv"

    def run(seeds: int) -> dict:
        rankers = ["--ranker", "exact", "--ranker", "lambdarank"]
        words = ["demo", *rankers, "--seeds", f"{seeds}", "--n", "100", "--epochs", "1"]
        monkeypatch.setattr(sys, "argv", ["training_table.py", *words, "--out", str(out)])
        table.main()
        return table.read(out)["demo"]

    before, after = run(1), run(2)
    rows = capsys.readouterr().out.splitlines()[-2:]
    assert [row.split("|")[2].strip() for row in rows] == ["exact", "lambdarank"]
    for ranker, values in after.items():
        assert [len(numbers) for numbers in values.values()] == [2, 2, 2]
        assert values["policy"][:1] == before[ranker]["policy"]


def test_safety_tradeoff_measures_and_draws(tmp_path, monkeypatch):
    tradeoff = load("safety_tradeoff")
    monkeypatch.setattr(tradeoff, "SETTINGS", tradeoff.SETTINGS[:1] + tradeoff.SETTINGS[-1:])
    rows = tradeoff.measure(2000, 1, 1)
    assert [title for title, _, _ in rows] == [
        "plain", "blend to 20%", "blend to 10%", "blend to 5%", "blend to 2%", "band 0.9",
    ]  # fmt: skip
    assert rows[4][2] == pytest.approx(min(0.02, rows[0][2]))
    tradeoff.draw(rows, tmp_path / "safety.png")
    assert (tmp_path / "safety.png").stat().st_size > 1000


def test_the_command_package_passes_its_own_tests(tmp_path):
    package = EXAMPLES / "cltr-example-command"
    words = ["-q", "--import-mode=importlib", "-p", "no:cacheprovider", "-W", "error"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *words, "--rootdir", tmp_path, package / "tests"],
        env={**os.environ, "PYTHONPATH": str(package)},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    assert "3 passed" in done.stdout


def test_ramps_keep_the_budget_whatever_users_do(tmp_path):
    ramp = load("ramp")
    for users in ("as modelled", "adversarial"):
        case = ramp.prepare(users, tmp_path, kind="worse", interactions=4000)
        assert case.certified == pytest.approx(ramp.BUDGET / case.worst_loss)
        assert case.true_loss <= case.worst_loss
        shares = [*ramp.ramp(case, 0, step=500, steps=3, trusted=False)]
        assert all(share in (0.0, case.certified) for share in shares)
        assert max(shares) * case.true_loss <= ramp.BUDGET
    assert not case.healthy
    for outcome, share in (("clicks", case.certified), ("orders", 0.0)):
        rules = {"step": 20_000, "steps": 6, "trusted": outcome == "orders", "outcome": outcome}
        *_, last = ramp.ramp(case, 0, **rules)
        assert last == share  # adversarial clicks do not raise it, orders stop a worse ranker
