"""Guards killed ingestion and foreign files, and the counts of published logs."""

import os
import signal
import time

import h5py
import numpy as np
import pytest

from cltr.errors import DataError
from cltr.logs.log_file import open_log
from cltr.logs.published_formats import OpenBanditReader
from tests import children
from tests.logs.ingesting import MANY, ingest
from tests.plain_logs import REAL, write_csv

needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the click logs are not there")


def test_a_kill_leaves_no_file_that_opens(tmp_path):
    path = write_csv(tmp_path / "log.csv", MANY * 200)
    out = tmp_path / "out.h5"
    began = time.perf_counter()
    children.run(lambda: ingest(path, out=out, sessions=True, on=["all=drop"]) and "done")
    whole = time.perf_counter() - began
    out.unlink()
    for share in (0.1, 0.4, 0.7, 0.9, 0.97):
        child, receive = children.start(lambda: ingest(path, out=out, sessions=True) and "done")
        time.sleep(share * whole)
        os.kill(child, signal.SIGKILL)
        children.finish(child, receive)
        if out.exists():  # then it was done just in time, and is whole
            assert sum(p.n_interactions for p in open_log(out).statistics.values()) == 60
            out.unlink()


def test_lists_of_a_foreign_file_are_checked(tmp_path):
    ingest(write_csv(tmp_path / "log.csv", MANY))
    out = tmp_path / "log.h5"
    with h5py.File(out, "r+") as file:
        file["lists/offsets"][...] = [0, 2]
    with pytest.raises(DataError, match="'lists/offsets' must rise from 0 to 3"):
        open_log(out)
    with h5py.File(out, "r+") as file:
        del file["lists/offsets"]
    with pytest.raises(DataError, match="'lists/offsets' is missing"):
        open_log(out)
    with h5py.File(out, "r+") as file:
        file["lists/offsets"] = h5py.ExternalLink("/etc/passwd", "x")
    with pytest.raises(DataError, match="is a link to elsewhere; refused"):
        open_log(out)


@needs_real
def test_yandex_has_the_counts_of_its_readme(tmp_path):
    path = REAL / "yandex-relpred" / "train.tsv.gz"
    report, log = ingest(path, out=tmp_path / "log.h5")
    assert sum(report["n_interactions"].values()) == 35_064
    assert (report["queries"], report["documents"], report["top_k"]) == (20, 1024, 10)
    assert report["problems"] == []
    rates = [0.257, 0.249, 0.170, 0.154, 0.106, 0.073, 0.069, 0.047, 0.050, 0.045]
    np.testing.assert_allclose(report["click_rate"], rates, atol=5e-4)
    whole = sum((log.statistics[part] for part in ("valid", "test")), log.statistics["train"])
    assert ((whole.impressions > 0).sum(1) > 1).sum() == 538


@needs_real
@pytest.mark.parametrize(("split", "n"), [("train", 2872), ("valid", 361), ("test", 363)])
def test_trec_has_the_counts_of_its_readme(tmp_path, split, n):
    path = REAL / "trec-session-2014" / f"{split}.tsv.gz"
    report, _ = ingest(path, out=tmp_path / "log.h5")
    assert sum(report["n_interactions"].values()) == n
    if split == "train":
        rates = [0.132, 0.088, 0.068, 0.045, 0.033, 0.025, 0.021, 0.014, 0.014, 0.012]
        np.testing.assert_allclose(report["click_rate"], rates, atol=2e-3)


@needs_real
@pytest.mark.parametrize("policy", ["random", "bts"])
@pytest.mark.parametrize(("campaign", "items"), [("men", 34), ("women", 46)])
def test_open_bandit_has_the_counts_of_its_readme(tmp_path, policy, campaign, items):
    path = REAL / "open-bandit" / policy / campaign
    report, log = ingest(path, out=tmp_path / "log.h5", reader=OpenBanditReader())
    assert sum(report["impressions"].values()) == 10_000
    assert (report["queries"], report["documents"], report["top_k"]) == (1, items, 3)
    assert log.lists.query_ids.tolist() == [campaign]
    assert 30 <= sum(report["clicks"].values()) <= 80
    if policy == "random":
        np.testing.assert_allclose(log.propensities, 1 / items)
