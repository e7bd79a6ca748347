"""Guards the safety panel: its grid, its arithmetic, and that the default is what train does."""

import csv
import json

import pytest

from cltr.experiment import train_run
from cltr.studies import figures
from cltr.studies.cell_worker import CellWorker
from cltr.studies.figures import panel_study
from cltr.studies.panel_table import method_lines, panel_rows
from cltr.studies.study import Cell
from tests import small

OPTIONS = {key: small.CHOICES[key] for key in ("scorer", "training", "production")}


def test_the_grid_is_fixed():
    found = panel_study()
    assert found.interactions == [10_000, 100_000, 1_000_000]
    assert found.seeds == list(range(1, 11))
    assert found.people == [
        *("as assumed", "PBM", "wrong examination", "DBN", "cascade", "UBM"),
        *("random", "adversarial"),
    ]
    assert len(found) == len(found.methods) * 8 * 3 * 10
    assert len(panel_study(quick=True)) < len(found) / 5


def test_users_have_the_options_of_their_name():
    found = panel_study()
    steep = found.config(Cell("DR", 1, 10_000, "wrong examination"))
    assert steep.users is not None
    assert (steep.users.name, steep.users.options) == ("pbm", {"eta": 2.0})
    assert steep.click_model.name == "trust-bias"


def test_only_the_default_fits_and_checks():
    found = panel_study()
    configs = {name: found.config(Cell(name, 1, 10_000, "PBM")) for name in found.methods}
    assert {one.version for one in configs.values()} == {"0.2"}
    careful = [name for name, one in configs.items() if one.on_doubt != "ignore"]
    assert careful == ["default"]
    assert configs["default"].click_model.name == "auto"
    assert configs["default"].estimator.options == {}


@pytest.fixture
def data(monkeypatch):
    """A small data set in place of the demo, for cells in this process."""
    monkeypatch.setattr("cltr.data.demo.demo_dataset", small.dataset)


def test_the_default_is_what_train_does(data, tmp_path):
    found, cell = panel_study(options=OPTIONS), Cell("default", 1, 10_000, "PBM")
    row = CellWorker().run(found, cell)
    run = train_run.train(found.config(cell), out=tmp_path / "run")
    assert row["status"] == "done", row
    assert row["ndcg@5"] == run["metrics"]["policy"]["ndcg@5"]
    assert row["worst_ndcg_loss"] == run["certificate"]["test"]["worst_case"]["ndcg@5"]["loss"]
    assert row["stayed"] == (run["plan"] == "stay")
    assert row["share"] == run["advice"]["share"]


def test_production_sorted_learns_nothing(data):
    found = panel_study(options=OPTIONS)
    row = CellWorker().run(found, Cell("production, sorted", 1, 10_000, "adversarial"))
    assert row["epochs"] == 0
    assert row["ndcg@5"] != row["production_ndcg@5"]


# Arithmetic, on made cells.


def made(found, gains):
    """Cells with a gain by method, users and seed, over a production of 0.5."""
    return [
        vars(cell)
        | {
            "status": "done",
            "production_ndcg@5": 0.5,
            "ndcg@5": 0.5 * (1 + gains(cell)),
            "worst_ndcg_loss": 0.02 * cell.seed,
            "stayed": int(cell.method == "default"),
        }
        for group in found.groups()
        for cell in group
    ]


def test_rows_are_means_worsts_and_shares_over_seeds():
    found = panel_study(changes={"seeds": 4, "interactions": [10_000]})
    rows = panel_rows(found, made(found, lambda cell: 0.1 - 0.05 * cell.seed))
    row = next(row for row in rows if (row.method, row.users) == ("DR", "UBM"))
    assert row.seeds == 4
    assert row.mean_gain == pytest.approx(0.1 - 0.05 * (1 + 2 + 3 + 4) / 4)
    assert row.worst_seed == pytest.approx(0.1 - 0.05 * 4)
    assert row.runs_below == 2 / 4  # seeds 3 and 4; 0 is no loss
    assert row.worst_case == pytest.approx(0.02 * (1 + 2 + 3 + 4) / 4)
    assert row.stayed == 0.0
    assert len(rows) == len(found.methods) * 8


def test_a_loss_of_exactly_one_percent_is_not_counted():
    found = panel_study(changes={"seeds": 1, "interactions": [10_000]})
    just = panel_rows(found, made(found, lambda cell: -0.0099))
    more = panel_rows(found, made(found, lambda cell: -0.0101))
    assert {row.runs_below for row in just} == {0.0}
    assert {row.runs_below for row in more} == {1.0}


def test_a_method_is_one_line():
    gains = {"as assumed": 0.3, "random": -0.02, "adversarial": -0.5}
    found = panel_study(changes={"seeds": 2})
    rows = panel_rows(found, made(found, lambda c: gains.get(c.users, 0.1) - 0.01 * c.seed))
    line = next(line for line in method_lines(rows) if line.method == "DR")
    assert line.runs == 2 * 8 * 3
    assert line.as_assumed == pytest.approx(0.3 - 0.015)
    assert line.otherwise == pytest.approx(0.1 - 0.015)
    assert line.otherwise_worst == pytest.approx(0.1 - 0.02)
    assert line.random_worst == pytest.approx(-0.04)
    assert line.adversarial_worst == pytest.approx(-0.52)
    assert line.runs_below == pytest.approx(2 / 8)
    assert line.worst_case == pytest.approx(0.03)


def test_cells_that_failed_are_left_out():
    found = panel_study(changes={"seeds": 2, "interactions": [10_000]})
    cells = made(found, lambda cell: 0.1)
    cells[0] = cells[0] | {"status": "failed"}
    rows = panel_rows(found, cells)
    assert sorted({row.seeds for row in rows}) == [1, 2]


# The command.


@pytest.fixture
def short(monkeypatch):
    """Two users, two methods."""
    read = figures._read

    def cut(name):
        values = read(name)
        kept = ("as assumed", "adversarial")
        values["user_models"] = {key: values["user_models"][key] for key in kept}
        values["methods"] = {key: values["methods"][key] for key in ("DR", "default")}
        return values

    monkeypatch.setattr(figures, "_read", cut)


def test_the_command_writes_one_table_one_picture_one_results_file(short, tmp_path):
    from click.testing import CliRunner

    from cltr.cli import cli

    out = tmp_path / "panel"
    words = ["reproduce", "panel", "--data", small.saved(tmp_path), "-n", "1000", "--seeds", "1"]
    words += [*small.FLAGS[3:], "-m", "mine: prpo/ips estimator.clip=0.9", "--workers", "1"]
    done = CliRunner().invoke(cli, [*words, "--out", str(out)])
    assert done.exit_code == 0, done.output
    for word in ("DR", "default", "mine", "sarial", "NDCG points"):
        assert word in done.output
    with (out / "results.csv").open() as file:
        assert len(list(csv.DictReader(file))) == 3 * 2
    with (out / "panel.csv").open() as file:
        assert {row["method"] for row in csv.DictReader(file)} == {"DR", "default", "mine"}
    assert (out / "panel.png").read_bytes()[:4] == b"\x89PNG"

    again = CliRunner().invoke(cli, [*words, "--out", str(out), "--json"])
    result = json.loads(again.stdout)
    assert "6 from before" in again.stderr
    assert len(result["rows"]) == 6


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["panel", "--preset", "paper"], "the panel has no presets"),
        (["figure-2", "-m", "prpo"], "-m adds a method to the panel"),
        (["panel", "-m", "prpp"], "method 'prpp': no estimator named 'prpp'"),
        (["panel", "-m", "DR: prpo"], "two methods are called 'DR'"),
        (["panel", "--data", "none.h5"], "none.h5: no such file"),
    ],
)
def test_what_is_wrong_is_one_line(words, message):
    from click.testing import CliRunner

    from cltr.cli import cli

    done = CliRunner().invoke(cli, ["reproduce", *words])
    assert done.exit_code in (1, 2)
    assert message in done.stderr
