"""Guards ``cltr compare`` and ``cltr reproduce``: what they print, keep and refuse."""

import csv
import json

import pytest

from tests import small

QUICK = [*("-n", "500,1000"), *("--seeds", "2"), *("--workers", "1")]
OPTIONS = small.FLAGS[3:]
LOST = """
from cltr.hookspecs import hookimpl
from cltr.interfaces import RewardFunction


class Lost(RewardFunction):
    "Says no."

    name = "lost"

    def mu(self, data, *, propensity_clip=0.0):
        raise ValueError("lost\\nfor good")


@hookimpl
def cltr_rewards():
    return [Lost]
"""


@pytest.fixture
def data(here):
    """A data set of a few queries, as a flag."""
    return ["--data", small.saved(here)]


def test_compare_prints_a_table_and_keeps_results_and_picture(cltr, data, tmp_path):
    out = tmp_path / "try"
    methods = ["-m", "prpo/ips", "-m", "careful: prpo/ips estimator.clip=0.9"]
    done = cltr("compare", *methods, *data, *QUICK, *OPTIONS, "--out", str(out))
    for word in ("prpo/ips", "careful", "production", "skyline", "1,000"):
        assert word in done.stdout
    with (out / "results.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 2 + 2 * 2 * 2
    assert {row["status"] for row in rows} == {"done"}
    assert (out / "comparison.png").read_bytes()[:4] == b"\x89PNG"

    again = cltr("compare", str(out / "study.toml"), "--out", str(out), "--json")
    result = json.loads(again.stdout)
    assert result["cells"] == len(rows)
    assert "10 from before" in again.stderr
    means = result["curves"]["trust-bias"]["careful"]["mean"]
    expected = [float(r["ndcg@5"]) for r in rows if r["method"] == "careful"]
    assert means[0] == pytest.approx(sum(expected[:2]) / 2)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give methods with -m"),
        (["-m", "prpo/dr/exact/x"], "ESTIMATOR/REWARD/RANKER"),
        (["-m", "prpo", "-n", "lots"], "1e2..1e9:25"),
        (["-m", "prpo", "--seeds", "x"], "number of seeds"),
        (["missing.toml"], "missing.toml: cannot read study file"),
        (["-m", "ips/dr"], "means 'plain' over the reward 'ips'"),
        (["-m", "prpo", "-m", "prpp"], "method 'prpp': no estimator named 'prpp'"),
        (["-m", "prpo", "--users", "adverse"], "method 'prpo': no click-model named 'adverse'"),
        (["-m", "safe/naive"], "method 'safe/naive': estimator 'safe' needs a reward"),
        (["-m", "prpo", "--data", "none.h5"], "none.h5: no such file"),
        (["-m", "prpo", "--out", "/proc/x"], "/proc/x: cannot make the folder"),
        (["-m", "prpo", "-m", "prpo"], "two methods are called 'prpo'"),
        (["-m", "prpo", "-o", "estimator.colour=1"], "method 'prpo': no option 'estimator.colour'"),
    ],
)
def test_what_is_wrong_is_one_line(cltr, words, message):
    done = cltr("compare", *words)
    assert done.exit_code in (1, 2)
    assert message in done.stderr
    assert "━" not in done.stderr
    assert [line for line in done.stderr.splitlines() if "Error" in line] == [
        done.stderr.rstrip().splitlines()[-1]
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [("title = 'x'", "no methods"), ("base = 'x'\n[methods.a]", "base is 'x'; it must be a table")],
)
def test_a_wrong_study_file_is_one_line(cltr, here, text, message):
    (here / "study.toml").write_text(text)
    assert f"study.toml: {message}" in cltr("compare", "study.toml").stderr


def test_cells_that_fail_are_told_and_end_with_code_1(cltr, data, here, fresh_registry):
    (here / "lost.py").write_text(LOST)
    words = ["-m", "prpo/lost", "-m", "ips", "-n", "500", "--seeds", "1", "--no-skyline"]
    done = cltr("compare", *words, *data, *OPTIONS, "--plugin", "lost.py")
    assert done.exit_code == 1
    told = " ".join(done.stdout.split())
    assert "failed prpo/lost, N 500, seed 1: reward 'lost' (lost.py): mu failed: ValueError" in told
    assert "ips" in done.stdout


def test_figure_1_takes_no_data(cltr):
    for words in (["-n", "5"], ["--data", "x.h5"], ["--quick"], ["-o", "ranker.samples=1"]):
        assert "figure-1 draws a formula" in cltr("reproduce", "figure-1", *words).stderr


def test_figure_1_is_a_table_a_file_and_a_picture(cltr, tmp_path):
    done = cltr("reproduce", "figure-1", "--ranks", "3", "--out", str(tmp_path), "--json")
    rows = json.loads(done.stdout)["rows"]
    assert len(rows) == 2 * 10
    up = next(row for row in rows if row["reward"] == 1 and row["new_rank"] == 1)
    assert (up["ratio"], up["clipped"]) == (pytest.approx(2.0), 1.15)
    down = next(row for row in rows if row["reward"] == -1 and row["new_rank"] == 10)
    assert down["clipped"] == pytest.approx(-1 / 1.15)
    assert (tmp_path / "figure-1.png").exists()
    text = cltr("reproduce", "figure-1", "--out", str(tmp_path)).stdout
    assert "1.15*" in text
    assert "…" not in text


@pytest.mark.parametrize("ranks", ["0", "x", "2,,4", ""])
def test_wrong_ranks_are_refused(cltr, ranks):
    assert "--ranks" in cltr("reproduce", "figure-1", "--ranks", ranks).stderr


def test_a_figure_on_small_data_has_its_statements(cltr, data, tmp_path):
    words = ["-n", "300", "--seeds", "1", "--preset", "cltr", "--workers", "1", "--json"]
    done = cltr("reproduce", "figure-2", *words, *data, "--out", str(tmp_path))
    result = json.loads(done.stdout)
    assert [s["claim"][:3] for s in result["statements"]] == ["(a)", "(b)", "(c)"]
    assert all(isinstance(s["holds"], bool) for s in result["statements"])
    assert (tmp_path / "figure-2.svg").exists()
