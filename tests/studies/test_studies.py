"""Guards studies: cells are runs, shared work changes nothing, a kill loses and repeats nothing."""

import json
import math
import os
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from cltr.errors import DataError, OptionError, UsageError
from cltr.experiment import train_run
from cltr.experiment.experiment import Experiment
from cltr.studies.cell_worker import CellWorker, key_of
from cltr.studies.compare import compare
from cltr.studies.methods import parse_method
from cltr.studies.plots import draw_study, save
from cltr.studies.portable_arithmetic import COMMON, arithmetic, common_arithmetic
from cltr.studies.runner import run_study
from cltr.studies.study import SKYLINE, Cell, Study
from cltr.studies.summary import Summary, band, student, write_results
from cltr.training.loop import Trainer
from tests import small

ROOT = Path(__file__).parents[2]
BASE = {key: small.CHOICES[key] for key in ("scorer", "training", "production")}
METHODS = {"PRPO": {"estimator": "prpo", "reward": "ips"}, "IPS": {"estimator": "ips"}}


@pytest.fixture
def data(monkeypatch):
    """A small data set in place of the demo, for cells in this process."""
    monkeypatch.setattr("cltr.data.demo.demo_dataset", small.dataset)


def study(**values) -> Study:
    choices = {"interactions": [500, 2000], "seeds": 2, "base": BASE, "methods": METHODS}
    return Study.parse(choices | values, owner="")


# What is compared.


def test_the_grid_is_complete_and_grouped_by_clicks():
    found = study(users=["trust-bias", "adversarial"])
    cells = [cell for group in found.groups() for cell in group]
    assert len(cells) == len(set(cells)) == len(found) == 2 * (1 + 2 * 2 * 2)
    for group in found.groups():
        assert len({(cell.seed, cell.interactions, cell.users) for cell in group}) == 1


def test_a_method_stands_on_the_base():
    found = study(base={**BASE, "estimator": {"name": "prpo", "rollback": 1.0}, "metric": "clicks"})
    prpo = found.config(Cell("PRPO", 3, 500, "adversarial"))
    assert (prpo.seed, prpo.interactions, prpo.metric) == (3, 500, "clicks")
    assert prpo.estimator.options == {"rollback": 1.0, "clip": "100/N"}  # of version 0.1
    assert prpo.users is not None
    assert prpo.users.name == "adversarial"
    ips = found.config(Cell("IPS", 3, 500, "trust-bias"))
    assert (ips.estimator.name, ips.estimator.options, ips.reward.name) == ("plain", {}, "ips")
    assert ips.users is None


def test_options_without_a_name_are_those_of_every_method():
    found = study(base={**BASE, "estimator": {"clip": 0.5}}, methods={"p": {"estimator": "prpo"}})
    assert found.config(Cell("p", 1, 500)).estimator.options == {"clip": 0.5}
    assert found.config(Cell(SKYLINE, 1)).estimator.options == {}


def test_users_of_the_base_are_those_of_the_label():
    base = {**BASE, "users": {"name": "adversarial"}}
    assert study(base=base).people == ["adversarial"]
    both = study(base=base, users=["trust-bias", "adversarial"])
    assumed, adverse = (both.config(Cell("IPS", 1, 500, users)).users for users in both.users)
    assert assumed is None
    assert adverse is not None
    assert adverse.name == "adversarial"


def test_a_study_file_says_the_same():
    import tomllib

    found = study(title="t", panels={"one": ["IPS"]})
    assert Study.parse(tomllib.loads(found.to_toml()), owner="") == found


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"interactions": "many"}, "1e2..1e9:25"),
        ({"seeds": "x"}, "number of seeds"),
        ({"methods": {}}, "methods"),
        ({"methods": {SKYLINE: {}}}, "cannot be named"),
        ({"methods": {"a": {"estimator": "ips", "reward": "dr"}}}, "method 'a'"),
        ({"methods": {"a": {"colour": 1}}}, "method 'a'.*colour"),
        ({"panels": {"one": ["IPSS"]}}, "IPSS"),
        ({"seeds": 0}, "0 seeds"),
        ({"seeds": 10**12}, "1000000000000 seeds"),
        ({"seeds": True}, "true is neither a number of seeds"),
        ({"interactions": "1e2..1e3:99999999999"}, "99999999999 steps"),
        ({"interactions": "1e2..1e3:0"}, "0 steps"),
        ({"methods": {" ": {"estimator": "ips"}}}, "needs a name"),
        ({"methods": {"a": {"estimator": "ips", "seed": 4}}}, "method 'a': seed is the study's"),
        ({"methods": {"a": {"users": "adversarial"}}}, "method 'a': users is the study's"),
        ({"base": {"interactions": 5}}, "the base: interactions is the study's"),
        ({"methods": {"a": {"top_k": 3}, "b": {}}}, "same top_k; here 'a' 3, 'b' 5"),
        ({"methods": {"a": {"estimator": 5}}}, "5 is neither"),
    ],
)
def test_a_wrong_study_is_one_line(values, message):
    with pytest.raises((UsageError, OptionError), match=message) as error:
        study(**values)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("text", ["", "prpo/dr/exact/more", "clip=1", "prpo colour=1", "prpo clip"])
def test_a_wrong_method_is_one_line(text):
    with pytest.raises(UsageError, match="-m"):
        parse_method(text)


# Cells.


def test_a_cell_is_the_run_of_its_run_file(data, tmp_path):
    found, cell = study(), Cell("PRPO", 1, 2000, "trust-bias")
    row = CellWorker().run(found, cell)
    run = train_run.train(found.config(cell), out=tmp_path / "run")
    assert row["ndcg@5"] == run["metrics"]["policy"]["ndcg@5"]
    assert row["production_ndcg@5"] == run["metrics"]["production"]["ndcg@5"]
    assert row["worst_loss"] == run["certificate"]["test"]["worst_loss"]
    assert row["clip_fraction"] == run["clip_fraction"]


@pytest.mark.parametrize(
    "values",
    [
        {"version": "0.2"},
        {"version": "0.2", "base": {**BASE, "on_doubt": "stay"}},
        {"version": "0.2", "base": {**BASE, "on_doubt": "bound", "click_model": "auto"}},
    ],
    ids=["defaults", "stay", "fitted"],
)
def test_a_cell_of_a_versioned_study_is_the_run_of_its_run_file(data, tmp_path, values):
    found, cell = study(**values, users=["pbm"]), Cell("PRPO", 1, 2000, "pbm")
    config = found.config(cell)
    assert (config.version, config.estimator.options) == ("0.2", {})
    row = CellWorker().run(found, cell)
    run = train_run.train(config, out=tmp_path / "run")
    assert row["ndcg@5"] == run["metrics"]["policy"]["ndcg@5"]
    assert row["worst_loss"] == run["certificate"]["test"]["worst_loss"]


def test_a_study_without_a_version_has_the_defaults_of_0_1():
    old, new = study(), study(version="0.2")
    cell = Cell("PRPO", 1, 500, "trust-bias")
    assert (old.config(cell).version, old.config(cell).on_doubt) == ("0.1", "ignore")
    assert old.config(cell).estimator.options["clip"] == "100/N"
    assert new.config(cell).on_doubt == "ignore"  # unless a method asks for checks
    assert "clip" not in new.config(cell).estimator.options
    asked = study(version="0.2", methods={"PRPO": {"estimator": "prpo", "on_doubt": "stay"}})
    assert asked.config(cell).on_doubt == "stay"
    assert Study.parse(tomllib.loads(new.to_toml()), owner="").version == "0.2"
    with pytest.raises(OptionError, match="version"):
        study(version="9.9")


def test_methods_of_two_versions_have_productions_of_their_own(tmp_path):
    """Raw features are standardised since 0.2, also those of production."""
    methods = {
        "old": {"estimator": "ips"},
        "new": {"estimator": "ips", "version": "0.2", "standardize": True},
    }
    found = study(methods=methods, base={**BASE, "data": small.saved(tmp_path)})
    bench = CellWorker()
    rows = [bench.run(found, Cell(name, 1, 500, "trust-bias")) for name in methods]
    alone = CellWorker().run(found, Cell("new", 1, 500, "trust-bias"))
    assert rows[0]["production_ndcg@5"] != rows[1]["production_ndcg@5"]
    assert rows[1]["production_ndcg@5"] == alone["production_ndcg@5"]


def test_sharing_changes_no_number_and_computes_once(data, monkeypatch):
    found, calls = study(), []
    draw = Experiment.draw
    monkeypatch.setattr(Experiment, "draw", lambda *a: calls.append("") or draw(*a))
    bench = CellWorker()
    cells = [Cell(name, 1, 2000, "trust-bias") for name in METHODS]
    together = [bench.run(found, cell) for cell in cells]
    assert len(calls) == 1
    for cell, row in zip(cells, together, strict=True):
        alone = CellWorker().run(found, cell)
        assert {**row, "seconds": 0} == {**alone, "seconds": 0}


def test_methods_that_train_the_same_model_train_it_once(data, monkeypatch):
    """``band`` without a price and ``budget`` serve the model of plain DR in other ways."""
    bounded = {"DR": {"estimator": "dr"}, "box": {"estimator": {"name": "band", "box": True}}}
    bounded |= {"band": {"estimator": "band"}, "budget": {"estimator": "budget"}}
    found, epochs = study(methods=bounded, base={**BASE, "version": "0.2"}), []
    epoch = Trainer._epoch
    monkeypatch.setattr(Trainer, "_epoch", lambda *a: epochs.append("") or epoch(*a))
    bench = CellWorker()
    cells = [Cell(name, 1, 2000, "trust-bias") for name in bounded]
    trained, together = [], []
    for cell in cells:
        epochs.clear()
        together.append(bench.run(found, cell))
        trained.append(len(epochs))
    assert [n > 0 for n in trained] == [True, True, False, False]
    assert together[0]["ndcg@5"] != together[-1]["ndcg@5"]
    for cell, row in zip(cells, together, strict=True):
        alone = CellWorker().run(found, cell)
        assert {**row, "seconds": 0} == {**alone, "seconds": 0}


def test_production_may_be_one_for_all_seeds(data):
    fixed = study(base={**BASE, "production": {**BASE["production"], "seed": 7}})
    rows = [CellWorker().run(fixed, Cell(SKYLINE, seed)) for seed in (1, 2)]
    assert rows[0]["production_ndcg@5"] == rows[1]["production_ndcg@5"]
    assert rows[0]["ndcg@5"] != rows[1]["ndcg@5"]


def test_a_key_changes_with_what_a_number_depends_on_and_not_with_its_name():
    cell = Cell("PRPO", 1, 500, "trust-bias")
    key = key_of(study(), cell, "f")
    renamed = study(methods={"other": METHODS["PRPO"]}, title="other")
    assert key == key_of(renamed, Cell("other", 1, 500, "trust-bias"), "f")
    others = [
        key_of(study(), cell, "g"),
        key_of(study(), Cell("PRPO", 2, 500, "trust-bias"), "f"),
        key_of(study(), Cell("PRPO", 1, 501, "trust-bias"), "f"),
        key_of(study(), Cell("PRPO", 1, 500, "adversarial"), "f"),
        key_of(study(), Cell("IPS", 1, 500, "trust-bias"), "f"),
        key_of(study(base={**BASE, "init": "random"}), cell, "f"),
        key_of(study(), Cell(SKYLINE, 1), "f"),
    ]
    assert len({key, *others}) == 1 + len(others)


def test_a_cell_that_fails_says_why_and_the_rest_goes_on(data):
    found = study(methods={**METHODS, "bad": {"estimator": "safe", "reward": "naive"}})
    bench = CellWorker()
    bad, good = (bench.run(found, Cell(name, 1, 500, "trust-bias")) for name in ("bad", "IPS"))
    assert bad["status"] == "failed"
    assert "variance bound" in bad["error"]
    assert good["status"] == "done"


# All cells: in processes, kept, killed.


def test_a_cell_does_not_depend_on_what_libraries_would_choose(tmp_path, monkeypatch):
    base = {**BASE, "data": small.saved(tmp_path)}
    found = study(base=base, methods={"DR": {"estimator": "dr"}}, seeds=1, interactions=[2000])
    usual = run_study(found, tmp_path / "usual", workers=1)
    other = {"OPENBLAS_CORETYPE": "Nehalem", "ATEN_CPU_CAPABILITY": "default"}
    for name, value in other.items():
        monkeypatch.setenv(name, value)
    assert numbers(run_study(found, tmp_path / "other", workers=1)) == numbers(usual)
    assert {name: os.environ[name] for name in other} == other


def test_processes_of_cells_have_the_arithmetic_of_common_processors(run_python):
    code = "import torch; print(torch.backends.cpu.get_cpu_capability(), torch.get_num_threads())"
    before = dict(os.environ)
    with common_arithmetic():
        found = run_python(code)
    assert dict(os.environ) == before
    if arithmetic() == COMMON:
        assert found == "AVX2 1\n"


def numbers(rows):
    return [{key: value for key, value in row.items() if key != "seconds"} for row in rows]


def test_killed_halfway_it_goes_on_to_the_same_table(tmp_path):
    found = study(base={**BASE, "data": small.saved(tmp_path)}, seeds=3)
    whole = run_study(found, tmp_path / "whole", workers=1)
    assert all(row["status"] == "done" for row in whole)

    folder = tmp_path / "killed"
    (tmp_path / "study.toml").write_text(found.to_toml())
    code = (
        "import tomllib, pathlib; from cltr.studies.study import Study;"
        "from cltr.studies.runner import run_study;"
        f"values = tomllib.loads(pathlib.Path({str(tmp_path / 'study.toml')!r}).read_text());"
        f"run_study(Study.parse(values, owner=''), pathlib.Path({str(folder)!r}), workers=2)"
    )
    script = tmp_path / "run.py"
    script.write_text(f"if __name__ == '__main__':\n    {code}\n")
    child = subprocess.Popen([sys.executable, str(script)], cwd=ROOT)
    deadline = time.monotonic() + 120
    while len(list(folder.glob("cells/*.json"))) < 4 and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill()
    child.wait()
    time.sleep(0.5)  # workers notice and end
    done = {path: path.stat().st_mtime_ns for path in folder.glob("cells/*.json")}
    assert 4 <= len(done) < len(found)
    time.sleep(0.5)
    assert len(list(folder.glob("cells/*.json"))) == len(done)
    rows = run_study(found, folder, workers=1)
    assert all(path.stat().st_mtime_ns == changed for path, changed in done.items())
    write_results(rows, folder)
    assert numbers(rows) == numbers(whole)


def test_failed_cells_are_tried_again(tmp_path, monkeypatch):
    found = study(base={**BASE, "data": small.saved(tmp_path)}, seeds=1, interactions=[500])
    folder, told = tmp_path / "out", []
    result = compare(found, folder, workers=1)
    assert result["cells"] == 3
    cell = next(folder.glob("cells/*.json"))
    cell.write_text(json.dumps({"status": "failed", "error": "lost", "seconds": 1}))
    result = compare(found, folder, workers=1, on_progress=told.append)
    assert (told[0].done, told[0].found_before, told[-1].done) == (2, 2, 3)
    assert not result["failed"]
    for name in ("results.csv", "summary.json", "comparison.png", "comparison.svg", "study.toml"):
        assert (folder / name).stat().st_size > 0


@pytest.mark.parametrize("text", ['{"status": "done"}', '{"status": "done", "ndcg@5": "x"}', "[]"])
def test_a_damaged_cell_is_one_line(tmp_path, text):
    found = study(base={**BASE, "data": small.saved(tmp_path)}, seeds=1, interactions=[500])
    compare(found, tmp_path / "out", workers=1)
    cell = next((tmp_path / "out").glob("cells/*.json"))
    cell.write_text(text)
    with pytest.raises(DataError, match="not a cell of a study; remove it"):
        compare(found, tmp_path / "out", workers=1)


def test_any_name_can_be_drawn(tmp_path):
    found = study(methods={"$x_$y^": {}, "_hidden": {}}, title="$a_$b^")
    save(draw_study(Summary(found, small.cells(found, lambda m, n: 0.6))), tmp_path, "names")
    assert (tmp_path / "names.svg").stat().st_size > 0


# Means and intervals.


@pytest.mark.parametrize("degrees", [1, 2, 5, 30])
@pytest.mark.parametrize("probability", [0.6, 0.9, 0.975])
def test_students_quantiles(probability, degrees):
    assert student(probability, degrees) == pytest.approx(
        stats.t.ppf(probability, degrees), rel=1e-4
    )


def test_the_interval_holds_the_next_number_as_often_as_it_says():
    rng = np.random.default_rng(0)
    draws = rng.normal(size=(4000, 6))
    held = [(found := band(row[:5], 0.8)).low < row[5] < found.high for row in draws]
    assert np.mean(held) == pytest.approx(0.8, abs=0.02)


def test_a_method_is_compared_with_its_own_production():
    found = study(methods={"a": {}, "b": {"production": {"seed": 7}}}, skyline=False)
    rows = small.cells(found, lambda m, n: 0.6)
    for row in rows:
        row["production_ndcg@5"] = 0.5 if row["method"] == "a" else 0.4
    summary = Summary(found, rows)
    assert summary.differences("a", "trust-bias", 500) == pytest.approx({1: 0.1, 2: 0.1})
    assert summary.differences("b", "trust-bias", 500) == pytest.approx({1: 0.2, 2: 0.2})
    assert math.isnan(summary.references["production"].mean)


def test_one_seed_has_a_mean_and_no_interval():
    found = band([0.5], 0.8)
    assert found.mean == 0.5
    assert math.isnan(found.low)
    assert math.isnan(band([], 0.8).mean)
