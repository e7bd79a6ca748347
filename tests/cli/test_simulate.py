"""Guards ``cltr simulate``: what it says is what the log holds."""

import json
import subprocess
import sys
import time

import pytest

from cltr.data.dataset_file import save_dataset
from cltr.errors import DataError
from cltr.logs.log_file import open_log
from cltr.logs.stored_sessions import read_sessions
from cltr.types import LOG_PARTS
from tests import small

KEYS = {"users", "n_interactions", "top_k", "seed", "data", "clicks", "click_rate", "log"}


@pytest.mark.parametrize("sessions", [[], ["--sessions"]], ids=["counts", "sessions"])
def test_json_says_what_is_in_the_log(cltr, here, sessions):
    done = cltr("simulate", "-n", "1e3", "--out", "log.h5", *sessions, "--json")
    assert done.exit_code == 0
    result = json.loads(done.stdout)
    assert set(result) >= KEYS
    log = open_log(here / "log.h5", small.dataset())
    assert result["clicks"]["train"] == log.statistics["train"].clicks.sum()
    assert result["n_interactions"] == log.statistics["train"].n_interactions == 1000
    assert result["sessions"] == bool(sessions)
    assert list(log.statistics) == list(LOG_PARTS)
    for name in ("clicks", "impressions"):
        expected = {part: getattr(log.statistics[part], name).sum() for part in LOG_PARTS}
        assert result[name] == expected
    if sessions:
        tested = sum(len(chunk) for chunk in read_sessions(here / "log.h5", "test"))
        assert tested == log.statistics["test"].n_interactions > 0
        chunks = read_sessions(here / "log.h5")
        assert sum(len(chunk) for chunk in chunks) == 1000


def test_users_are_those_asked_for(cltr):
    """Rank by rank, adversarial users click where those they reverse do not."""
    rates = []
    for users in ("pbm", "adversarial"):
        words = ["--click-model", "pbm", "-o", "click-model.eta=0", "--users", users]
        more = ["-o", "users.eta=0"] if users == "pbm" else []
        done = cltr("simulate", "-n", "1e5", *words, *more, "--out", f"{users}.h5", "--json")
        rates.append(json.loads(done.stdout)["click_rate"])
    assert rates[0] == pytest.approx([1 - rate for rate in rates[1]], abs=0.02)


def test_people_see_rates_by_rank(cltr):
    done = cltr("simulate", "-n", "1000", "--out", "log.h5")
    assert "1,000 training interactions of users trust-bias" in " ".join(done.stdout.split())
    assert "clicks per impression" in done.stdout
    assert "production ranker" in done.stderr


def test_the_same_seed_the_same_log(cltr, here):
    for name in ("a.h5", "b.h5"):
        cltr("simulate", "-n", "500", "--seed", "4", "--out", name)
    first, second = (open_log(here / name).statistics for name in ("a.h5", "b.h5"))
    for part in LOG_PARTS:
        assert (first[part].clicks == second[part].clicks).all()


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [[], ["--sessions"]], ids=["counts", "sessions"])
def test_a_kill_leaves_no_log_that_opens(here, sessions):
    """A real process, killed as soon as it has begun to write."""
    save_dataset(small.dataset(), here / "data.h5")
    words = ["simulate", "--data", "data.h5", "-n", "2e5", "--out", "log.h5", *sessions]
    words += ["-o", "production.epochs=1"]
    program = "import sys; from cltr.cli import main; main()"
    child = subprocess.Popen(
        [sys.executable, "-c", program, *words],
        stderr=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
    )
    while child.poll() is None and not list(here.glob(".log.h5*")):
        time.sleep(0.001)
    child.kill()
    child.wait()
    for path in here.glob("*log.h5*"):
        if path.name == "log.h5":  # it was done just in time
            open_log(path)
        else:
            with pytest.raises(DataError):
                open_log(path)


def test_a_log_needs_a_name(refused):
    assert refused("simulate", code=2).startswith("Missing option '--out'")


def test_a_log_in_a_folder_that_is_not_there(refused):
    line = refused("simulate", "-n", "100", "--out", "none/log.h5", code=1)
    assert line == "none/log.h5: there is no folder 'none'; create it first"


@pytest.mark.parametrize("sessions", [[], ["--sessions"]], ids=["counts", "sessions"])
def test_a_full_disk(cltr, refused, disk_of, sessions):
    words = ["simulate", "-n", "1000", *sessions]
    cltr(*words, "--out", "first.h5")  # so that no kernel is compiled, and kept, on the full disk
    with disk_of(4000):
        line = refused(*words, "--out", "log.h5", code=1)
    assert line.startswith("log.h5: cannot be written: file too large; an earlier file")


def test_help_names_options_that_simulate_has(cltr):
    shown = cltr("simulate", "--help").stdout
    assert "production.fraction=0.1" in shown
    assert "estimator" not in shown and "on a log" not in shown
