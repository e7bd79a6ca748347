"""Guards against bad input: one line, exit 1 or 2, and nothing left half-written."""

import pytest

from cltr.data.dataset_file import save_dataset
from tests import small

TRAIN = ["train", *small.FLAGS[2:], "--reward", "ips"]


# Words that there are not: exit 2.


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--reward", "drr"], "no reward named 'drr'; installed: "),
        (["--reward", "drr"], "Did you mean 'dr'?"),
        (["--estimator", "propo"], "Did you mean 'prpo'?"),
        (["--ranker", "exactt"], "Did you mean 'exact'?"),
        (["--scorer", "mpl"], "Did you mean 'mlp'?"),
        (["--click-model", "trust"], "no click-model named 'trust'"),
        (["--users", "adverserial"], "Did you mean 'adversarial'?"),
        (["--metric", "dcgg"], "Did you mean 'dcg'?"),
        (["--click-model", "adversarial"], "use --users adversarial"),
    ],
)
def test_unknown_names(refused, words, line):
    assert line in refused(*TRAIN, *words, code=2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--rewards", "ips"], "No such option"),
        (["-o", "estimator.clap=1"], "no option 'estimator.clap'"),
        (["-o", "estimator.clap=1"], "Did you mean 'clip'?"),
        (["-o", "estimater.clip=1"], "Did you mean 'estimator'?"),
        (["-o", "training.epoch=1"], "Did you mean 'epochs'?"),
        (["-o", "clip=1"], "expected role.key=value"),
        (["extra"], "unexpected extra argument"),
    ],
)
def test_unknown_options(refused, words, line):
    assert line in refused(*TRAIN, *words, code=2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["-o", "estimator.clip=1.5"], "estimator.clip is 1.5: it must lie in (0, 1]"),
        (["-o", "estimator.clip=N/2"], "estimator.clip is 'N/2': input should be a number or"),
        (["-o", "training.epochs=-1"], "training.epochs is -1: "),
        (["-o", "training.learning_rate=Infinity"], "training.learning_rate is inf: "),
        (["-o", "production.fraction=0"], "production.fraction is 0: "),
        (["-n", "none"], "'none' is not a number such as 100000 or 1e5"),
        (["-n", "0"], "'0' is not a whole number of at least 1"),
        (["-n", "1.5"], "'1.5' is not a whole number of at least 1"),
        (["-n", "1e99"], "'1e99' is more than cltr counts; give at most 1e+15"),
        (["-n", "nan"], "'nan' is not a whole number"),
        (["--top-k", "0"], "'0' is not a whole number of at least 1"),
        (["--seed", "-1"], "-1 is not in the range"),
        (["--seed", str(2**63)], "seed is 9223372036854775808: "),
        (["--exposure", "guessed"], "'guessed' is not one of 'auto', 'exact', 'logged', 'counted'"),
        (["--init", "best"], "'best' is not one of 'production', 'random'"),
        (["--top-k", "6"], "click model 'trust-bias' has values for 5 ranks, but 6 are needed"),
        (["--estimator", "safe", "-o", "estimator.form=paper"], "use -o estimator.form=general"),
        (["-o", "users.eta=2"], "no option 'users.eta'; users has: examination"),
        (
            ["-o", "click-model.trust=[0.5]"],
            "click-model: examination and trust need the same number of ranks",
        ),
    ],
)
def test_wrong_values(refused, words, line):
    assert line in refused(*TRAIN, *words, "--out", "run", code=2)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (
            ["--estimator", "dr", "--reward", "ips"],
            "--estimator dr means 'plain' over the reward 'dr', but --reward is 'ips'; "
            "use --estimator plain --reward ips",
        ),
        (["--log", "log.h5", "--users", "pbm"], "leave them out with a log"),
        (["--log", "log.h5", "-n", "9"], "with a log no interactions are simulated; leave out -n"),
        (["--resume", "run", "--seed", "3"], "--resume takes all options from the run"),
    ],
)
def test_words_that_contradict_each_other(refused, words, line):
    assert line in refused("train", *words, code=2)


def test_commands_that_there_are_not(refused):
    line = refused("trian", code=2)
    assert line.startswith("no command 'trian'; there are: train, ")
    assert "Did you mean 'train'?" in line


def test_no_command_is_wrong_usage_with_help(cltr):
    done = cltr()
    assert done.exit_code == 2
    assert done.stdout == ""
    assert done.stderr.startswith("Usage: cltr")


# What components cannot do: exit 1.


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--estimator", "safe", "--reward", "naive"], "needs a reward that declares a variance"),
        (["--reward", "ips", "--click-model", "cascade"], "is not affine in relevance"),
        (["--metric", "clicks", "--click-model", "cascade"], "is not affine in relevance"),
    ],
)
def test_combinations_that_cannot_be(refused, words, line):
    assert line in refused(*TRAIN, *words, "--out", "run", code=1)


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--click-model", "cascade"], "is not affine in relevance"),
        (["--reward", "dr", "--click-model", "cascade"], "is not affine in relevance"),
        (["--metric", "clicks", "--reward", "naive", "--click-model", "cascade"], "not affine"),
        (["--estimator", "budget", "--metric", "clicks"], "trained with the metric dcg"),
    ],
)
def test_they_are_refused_before_any_work(refused, monkeypatch, words, line):
    monkeypatch.setattr("cltr.experiment.train_run.open_data", lambda config: pytest.fail("late"))
    assert line in refused(*TRAIN, *words, "--out", "run", code=1)


# Files: exit 1, or 2 for a run file that says something wrong.


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["--data", "none.h5"], "none.h5: no such file"),
        (["--log", "none.h5"], "none.h5: no such file"),
        (["--config", "none.toml"], "none.toml: cannot read run file: No such file or directory"),
        (["--plugin", "none.py"], "none.py: no such plugin file"),
    ],
)
def test_missing_files(refused, words, line):
    assert refused(*TRAIN, *words, "--out", "run", code=1) == line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("estimator = {", "run.toml: not TOML: "),
        ('estimator = "prpo"', "run.toml: estimator is 'prpo': it must be a table"),
        ("epochs = 3", "run.toml: no option 'epochs'; there are: "),
        ("[training]\nepochs = 'many'", "run.toml: training.epochs is 'many': "),
        ("[estimator]\nname = 'prpo'\nclip = 7", "estimator.clip is 7: "),
    ],
)
def test_run_files_that_are_wrong(refused, here, text, line):
    (here / "run.toml").write_text(text)
    assert refused("train", "--config", "run.toml", code=2).startswith(line)


@pytest.mark.parametrize("share", [0.02, 0.5, 0.99])
def test_files_that_are_cut_off(refused, cltr, here, share):
    save_dataset(small.dataset(), here / "data.h5")
    cltr("simulate", "-n", "500", "--out", "log.h5")
    for name in ("data", "log"):
        path = here / f"{name}.h5"
        content = path.read_bytes()
        path.write_bytes(content[: int(share * len(content))])
        line = refused(*TRAIN, f"--{name}", path.name, "--out", "run", code=1)
        assert line.startswith(f"{name}.h5: ")


def test_files_of_another_kind(refused, cltr, here):
    save_dataset(small.dataset(), here / "data.h5")
    cltr("simulate", "-n", "500", "--out", "log.h5")
    (here / "text.h5").write_text("not HDF5 at all\n" * 99)
    for word, name, line in [
        (
            "--log",
            "data.h5",
            "data.h5: is a data set, not a log; give a file that 'cltr ingest' wrote",
        ),
        (
            "--data",
            "log.h5",
            "log.h5: is a log, not a data set; give a file that 'cltr data import' wrote",
        ),
        ("--data", "text.h5", "text.h5: is not an HDF5 file"),
        ("--log", "text.h5", "text.h5: is not an HDF5 file"),
    ]:
        assert refused(*TRAIN, word, name, code=1) == line


def test_a_log_of_other_data(refused, cltr, here):
    cltr("simulate", "-n", "500", "--out", "log.h5")
    save_dataset(small.dataset(30), here / "other.h5")
    line = refused(*TRAIN, "--data", "other.h5", "--log", "log.h5", code=1)
    assert line == "log.h5: the log was made with the data set demo; say --data demo"


def test_a_log_that_shows_fewer_ranks(refused, cltr):
    cltr("simulate", "-n", "500", "--top-k", "3", "--out", "log.h5")
    line = refused(*TRAIN, "--log", "log.h5", "--top-k", "5", code=2)
    assert line == "--top-k is 5, but the log shows 3 ranks; use --top-k 3 or less"


def test_data_without_test_queries(refused, here):
    from dataclasses import replace

    data = small.dataset()
    whole = {"train": (0, 12), "valid": (12, 24), "test": (24, 24)}
    save_dataset(replace(data, splits=whole), here / "data.h5")
    assert "split 'test' is empty" in refused(*TRAIN, "--data", "data.h5", code=1)


# Runs.


def test_a_finished_run_is_not_resumed(refused, train):
    train("--out", "run")
    line = refused("train", "--resume", "run", code=2)
    assert line == "run: the run is finished; see cltr evaluate run"


def test_a_folder_with_a_run_is_not_overwritten(refused, train):
    train("--out", "run")
    assert refused(*TRAIN, "--out", "run", code=1).startswith("run: the folder holds a run already")


def test_no_run_no_resumption(refused):
    assert refused("train", "--resume", "none", code=1).startswith("none: no such folder")


def test_a_run_folder_that_is_a_file(refused, here):
    (here / "file").write_text("")
    line = refused(*TRAIN, "--out", "file", code=1)
    assert line == "file: is a file; a run needs a folder"


@pytest.mark.parametrize("size", [100, 1200, 2000])
def test_a_full_disk(refused, train, disk_of, size):
    """When the run file, the weights or the scores are written."""
    train("--out", "first")  # so that no kernel is compiled, and kept, on the full disk
    with disk_of(size):
        line = refused(*TRAIN, "-o", "scorer.hidden=[64]", "--out", "run", code=1)
    assert "cannot be written: file too large; " in line
    assert "; free some space, or write elsewhere" in line
