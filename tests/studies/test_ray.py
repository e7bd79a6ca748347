"""Guards studies and fits on Ray: the bits of local processes, also if a worker dies."""

import json
import warnings

import pytest

pytest.importorskip("ray", reason="needs cltr[ray]")

from cltr.api.fit import fit
from cltr.api.ingest import ingest
from cltr.errors import CltrError, UsageError
from cltr.plugins import load_file
from cltr.studies.cell_worker import CellWorker
from cltr.studies.ray_cluster import _connect, ray_cluster, spread_on_ray
from cltr.studies.runner import run_study
from cltr.studies.study import Study
from tests import small
from tests import untidy_logs as untidy
from tests.plain_logs import write_parquet

METHODS = {"PRPO": {"estimator": "prpo", "reward": "ips"}, "IPS": {"estimator": "ips"}}
BASE = {key: small.CHOICES[key] for key in ("scorer", "training", "production")}


@pytest.fixture(scope="module")
def cluster():
    """A cluster of two workers on this machine, for all tests of this module."""
    with warnings.catch_warnings(), ray_cluster("ray", workers=2) as ray:
        warnings.simplefilter("ignore")
        yield ray


def cells(folder):
    """The numbers of all cells by file, without the time that they took."""
    found = {path.name: json.loads(path.read_text()) for path in (folder / "cells").iterdir()}
    return {name: {k: v for k, v in row.items() if k != "seconds"} for name, row in found.items()}


DYING = """
import os, signal
from cltr.hookspecs import hookimpl
from cltr.studies.cell_worker import CellWorker

compute = CellWorker.run

def run(self, study, cell):
    row = compute(self, study, cell)
    try:
        os.close(os.open({marker!r}, os.O_CREAT | os.O_EXCL))
    except FileExistsError:
        return row
    os.kill(os.getpid(), signal.SIGKILL)

CellWorker.run = run

@hookimpl
def cltr_rewards():
    return []
"""
"""A plugin file: the first worker that has computed a cell is killed before it can hand it over."""


def test_cells_are_those_of_local_processes_though_a_worker_dies(
    cluster, tmp_path, fresh_registry, monkeypatch
):
    base = BASE | {"data": small.saved(tmp_path)}
    values = {"interactions": [500], "seeds": 2, "base": base, "methods": METHODS}
    study = Study.parse(values, owner="")
    marker, plugin = tmp_path / "killed", tmp_path / "dying.py"
    plugin.write_text(DYING.format(marker=str(marker)))
    monkeypatch.setattr(CellWorker, "run", CellWorker.run)  # as it was, after the test
    load_file(plugin)
    rows = run_study(study, tmp_path / "ray", cluster="ray", plugins=(plugin,))
    assert marker.exists() and {row["status"] for row in rows} == {"done"}
    run_study(study, tmp_path / "local", workers=1, plugins=(plugin,))
    assert cells(tmp_path / "ray") == cells(tmp_path / "local")


def test_intervals_are_those_of_one_process(cluster, tmp_path):
    table = untidy.tidy(untidy.interactions(300, queries=12))
    log = ingest(write_parquet(tmp_path / "log.parquet", table), out=tmp_path / "log.h5").path
    asked = {"click_model": "pbm", "intervals": True}
    here = fit(log, out=tmp_path / "here", **asked).report["harvested"]
    there = fit(log, out=tmp_path / "there", cluster="ray", **asked).report["harvested"]
    assert there == here and "intervals" in there


@pytest.mark.parametrize("address", ["rayy", "ray://head", "http://head:1", "ray://head:port"])
def test_a_wrong_address_is_refused_before_any_work(address, tmp_path):
    study = Study.parse({"seeds": 1, "base": BASE, "methods": METHODS}, owner="")
    with pytest.raises(UsageError, match=f"^--cluster {address}: expected ray or ray://host:port$"):
        run_study(study, tmp_path / "study", cluster=address)
    assert not (tmp_path / "study").exists()


def _fail(number):
    raise CltrError(f"number {number} cannot be computed")


def test_failures_are_one_line(cluster):
    one_line = r"^a worker of Ray failed: .*number 3 cannot be computed$"
    with spread_on_ray("ray") as spread, pytest.raises(CltrError, match=one_line):
        spread(_fail, [3])
    expected = "--cluster dask: expected ray or ray://host:port"
    with pytest.raises(UsageError, match=expected), ray_cluster("dask"):
        pass


def test_a_cluster_that_does_not_start_is_one_line(monkeypatch):
    import ray

    def slow(**given):
        raise Exception("The current node timed out during startup.\nSome raylet failed.")

    monkeypatch.setattr(ray, "is_initialized", lambda: False)
    monkeypatch.setattr(ray, "init", slow)
    expected = r"^--cluster ray: Ray did not start: The current node timed out during startup\.$"
    with pytest.raises(CltrError, match=expected), ray_cluster("ray"):
        pass


def test_a_cluster_that_runs_here_is_joined_whatever_the_number_of_workers():
    asked = []

    class Running:
        @staticmethod
        def init(**given):
            asked.append(given)
            if "num_cpus" in given:
                raise ValueError("When connecting to an existing cluster, num_cpus must not be")

    _connect(Running, "ray", 2)
    assert [one.get("num_cpus") for one in asked] == [2, None]
