"""Guards: every verb from Python does what the command does, and takes what people have."""

import inspect
import json

import click
import numpy as np
import pytest
from click.testing import CliRunner

import cltr
from cltr.cli import COMMANDS, cli
from cltr.errors import CltrError, DataError, OptionError, PluginError, UnknownNameError, UsageError
from tests import small
from tests.api.conftest import SMALL

VERBS = ("train", "simulate", "ingest", "check", "fit", "evaluate", "gate", "rank", "compare")
RENAMED = {
    "uses": "log",  # the object has supports(use)
    "assignments": "options",
    "format_": "format",
    "actions": "on",
    "names": "click_model",
    "study_file": "study",
    "paths": "source",
    "candidates": "run",
}
"""What a command calls a parameter, where Python has another name."""
READER = ("_column", "_columns", "_from", "options")
"""Options of a log's format, which ``cltr.ingest`` takes as further keywords."""
TYPED = {"as_json", "verbose", "plugin_files", "help", "emit_sql"}
"""Parameters of commands only; the query of ``--emit-sql`` is ``cltr.ingest_sql``."""


def command(*words) -> dict:
    done = CliRunner().invoke(cli, [*map(str, words), "--json"], prog_name="cltr")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)


def same(first, second) -> bool:
    """Results with equal numbers, but for the time and place; through JSON, as files have them."""
    first, second = (
        small.same_numbers(json.loads(json.dumps(dict(one)))) for one in (first, second)
    )
    return first == second


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_options_of_its_command(verb):
    assert verb in COMMANDS
    parameters = inspect.signature(getattr(cltr, verb)).parameters
    found = cli.get_command(click.Context(cli), verb)
    for parameter in found.params:
        name = RENAMED.get(parameter.name, parameter.name)
        if name in TYPED or (verb == "ingest" and name.endswith(READER)):
            continue
        assert name in parameters, f"cltr.{verb} has no '{name}'"


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_the_defaults_of_its_command(verb):
    parameters = inspect.signature(getattr(cltr, verb)).parameters
    found = cli.get_command(click.Context(cli), verb)
    for parameter in found.params:
        name = RENAMED.get(parameter.name, parameter.name)
        if name not in parameters or parameter.required:
            continue
        default = parameters[name].default
        typed = parameter.get_default(click.Context(found)) if parameter.default else None
        if typed in (None, ()) or repr(typed) == "Sentinel.UNSET":
            assert default in (None, (), False, inspect.Parameter.empty, ""), name
        else:
            assert str(default) == str(typed), name


def test_training_gives_the_numbers_of_the_command():
    run = cltr.train(**SMALL, on_doubt="ignore", out="python")
    words = ("--reward", "ips", "--on-doubt", "ignore", "--out", "words")
    assert same(run.result, command("train", *small.FLAGS, *words))
    assert run.path.name == "python"
    assert run.ndcg == run.result["metrics"]["policy"]["ndcg@5"]
    assert run.production_ndcg == run.metrics["production"]["ndcg@5"]
    assert run.worst_case_loss["test"] >= 0
    gain, found = run.estimated_gain, run.result["off_policy"]["difference"]
    assert gain.value == found["value"]
    assert (gain.low, gain.high) == (found["low"], found["high"])
    assert run.config.reward.name == "ips"
    assert [row["epoch"] for row in run.history] == sorted(row["epoch"] for row in run.history)


def test_components_may_be_objects_with_their_options():
    by_object = cltr.train(**SMALL, estimator=cltr.PRPO(clip=0.5), out="object")
    options = SMALL["options"] | {"estimator.clip": 0.5}
    by_name = cltr.train(**{**SMALL, "options": options}, estimator="prpo", out="name")
    assert by_object.config.estimator == by_name.config.estimator
    assert same(by_object.result, by_name.result)


def test_a_class_of_this_session_is_a_component(fresh_registry):
    class Half(cltr.Plain):
        name = "half"

    run = cltr.train(**SMALL, estimator=Half(), out="run")
    assert run.result["estimator"] == "half"

    class Again(cltr.Plain):
        name = "half"

    assert cltr.train(**SMALL, estimator=Again(), out="again").result["estimator"] == "half"
    assert cltr.evaluate(run).result["estimator"] == "half"


def test_a_class_with_the_name_of_another_package_is_refused(fresh_registry):
    class Mine(cltr.Plain):
        name = "prpo"

    with pytest.raises(PluginError, match=r"estimator 'prpo' is provided by cltr .*another name"):
        cltr.train(**SMALL, estimator=Mine(), out="run")


@pytest.mark.parametrize(
    ("choices", "error", "line"),
    [
        ({"estimator": "prpoo"}, UnknownNameError, "Did you mean 'prpo'"),
        ({"estimator": 3}, UsageError, "estimator is 3: give the name of a component, or"),
        ({"reward": cltr.PRPO()}, UsageError, "is no reward: it is no RewardFunction"),
        ({"options": {"estimator.clipp": 1}}, OptionError, "no option 'estimator.clipp'"),
        ({"options": {"clip": 1}}, UsageError, "-o clip: expected role.key"),
        ({"options": {"estimater.clip": 1}}, UsageError, "no role 'estimater'"),
        ({"init": "best"}, OptionError, "init is 'best'"),
        ({"interactions": 0}, OptionError, "interactions is 0"),
        ({"interactions": 1e30}, OptionError, "interactions is 1e[+]30"),
        ({"data": 3}, UsageError, "a 'int' cannot be read as a table"),
        ({"data": "nowhere.h5"}, DataError, "nowhere.h5"),
        ({"log": 3}, UsageError, "a 'int' is no table"),
        (
            {"log": {"query": [1], "click": [0, 1]}},
            UsageError,
            "expected length 1 but got length 2",
        ),
        ({"resume": "run", "seed": 2}, UsageError, "--resume takes all options"),
        ({"users": "dbn", "log": "log.h5"}, OptionError, "leave them out with a log"),
    ],
)
def test_wrong_choices_are_one_line_and_leave_nothing(here, choices, error, line):
    with pytest.raises(error, match=line) as caught:
        cltr.train(**choices)
    assert "\n" not in str(caught.value)
    assert not [*here.iterdir()]


def test_a_data_set_and_a_log_in_memory_are_kept_in_the_run(impressions, dataset):
    run = cltr.train(**SMALL, data=dataset, out="run")
    assert (run.path / "data.h5").is_file()
    assert run.evaluate().ndcg == run.ndcg
    options = {"training.epochs": 1}
    logged = cltr.train(log=impressions, click_model="pbm", reward="ips", options=options)
    assert (logged.path / "log.h5").is_file() and logged.path.name == "001-prpo-ips"
    assert logged.ndcg is None and logged.estimated_gain is not None
    assert logged.evaluate().estimated_gain == logged.estimated_gain


def test_a_table_of_features_is_a_data_set(impressions):
    features = {
        "query": [f"q{i}" for i in range(5) for _ in "abc"],
        "document": [*"abc"] * 5,
        "bm25": [float(i % 7) for i in range(15)],
        "price": [float(i % 4) for i in range(15)],
        "score": [float(-(i % 3)) for i in range(15)],
    }
    choices = {"reward": "ips", "click_model": "pbm", "options": {"training.epochs": 1}}
    production = {key: features.pop(key) for key in ("score",)}
    production |= {key: features[key] for key in ("query", "document")}
    run = cltr.train(
        log=impressions, data=features, production_scores=production, out="run", **choices
    )
    kept = {path.name for path in run.path.iterdir()}
    assert {"data.h5", "log.h5", "production.parquet"} <= kept
    assert cltr.open_dataset("run/data.h5").feature_names == ("bm25", "price")
    assert run.result["scorer"] == "mlp" and run.ndcg is None
    assert cltr.load("run").evaluate().estimated_gain == run.estimated_gain


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "columns", "arrays"])
def test_logs_come_from_every_kind_of_table(impressions, library):
    made = {
        "pandas": lambda: pytest.importorskip("pandas").DataFrame(impressions),
        "polars": lambda: pytest.importorskip("polars").DataFrame(impressions),
        "pyarrow": lambda: pytest.importorskip("pyarrow").table(impressions),
        "columns": lambda: impressions,
        "arrays": lambda: {key: np.array(column) for key, column in impressions.items()},
    }[library]()
    log = cltr.ingest(made, out="log.h5", seed=3)
    assert sum(log.n_interactions.values()) == 300
    assert log.impressions == [300, 300, 300]
    assert log.click_rate == [1.0, 0.0, 0.0]
    assert cltr.Log("log.h5").n_clicks == log.n_clicks
    assert len(cltr.read_log(made)) == 300


def test_ingesting_gives_the_log_of_the_command(impressions, here):
    pandas = pytest.importorskip("pandas")
    pandas.DataFrame(impressions).rename(columns={"query": "q"}).to_csv("log.csv", index=False)
    log = cltr.ingest("log.csv", out="python.h5", query_column="q", on={"gaps": "drop"})
    words = ("--query-column", "q", "--on", "gaps=drop", "--out", "words.h5")
    told = command("ingest", "log.csv", *words)
    assert {**log.report, "log": 0, "seconds": 0} == {**told, "log": 0, "seconds": 0}
    with pytest.raises(CltrError, match="interactions that several of the merged logs hold"):
        cltr.ingest(["python.h5", "words.h5"], out="both.h5")
    twice = {"shared-interactions": "keep"}
    both = cltr.ingest(["python.h5", "words.h5"], out="both.h5", on=twice)
    assert sum(both.n_interactions.values()) == 600


def test_what_is_wrong_with_a_table_in_memory_names_no_hidden_file(impressions):
    del impressions["position"]
    with pytest.raises(CltrError) as caught:
        cltr.ingest(impressions, out="log.h5")
    assert str(caught.value).startswith("frame.parquet: ")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"split_by": "luck"}, "--split-by luck: expected interaction, user, time"),
        ({"valid_share": 1.5}, "--valid-share 1.5: expected a share"),
        ({"seed": -1}, "--seed -1"),
        ({"format": "lung"}, "Did you mean 'long'"),
        ({"qurey_column": "q"}, "no option 'long.qurey_column'.*Did you mean 'query_column'"),
    ],
)
def test_wrong_options_of_ingest(impressions, options, line):
    with pytest.raises(CltrError, match=line):
        cltr.ingest(impressions, out="log.h5", **options)


def test_checking_gives_the_findings_of_the_command(impressions):
    cltr.ingest(impressions, out="log.h5")
    check = cltr.check("log.h5")
    done = CliRunner().invoke(cli, ["check", "log.h5", "--json"])
    assert json.loads(json.dumps(check.plain())) == json.loads(done.stdout)
    assert check.usable == (done.exit_code == 0)
    assert {finding.name for finding in check.findings} >= {"overlap", "production"}
    assert cltr.check(impressions).log == "data frame"
    with pytest.raises(UsageError, match="-o reward: only options of the click-model can be set"):
        cltr.check("log.h5", click_model="pbm", options={"reward.x": 1})


def test_fitting_gives_the_models_of_the_command(impressions):
    log = cltr.ingest(impressions, out="log.h5")
    options = {"click-model.iterations": 20}
    report = cltr.fit(log, click_model=["pbm", "trust-bias"], options=options, out="python")
    words = (
        "--click-model",
        "pbm",
        "--click-model",
        "trust-bias",
        "-o",
        "click-model.iterations=20",
    )
    told = command("fit", "--log", "log.h5", *words, "--out", "words")
    likelihoods = [one["log_likelihood"] for one in told["models"]]
    assert [model.report["log_likelihood"] for model in report.models] == likelihoods
    assert report["pbm"].path == report.path / "pbm.h5"
    assert report["pbm"].load().fitted is not None
    assert len(report["pbm"].examination) == 3
    with pytest.raises(UnknownNameError, match=r"no click model 'pmb' was fitted; .*mean 'pbm'"):
        report["pmb"]
    options = {"training.epochs": 1}
    run = cltr.train(log=log, click_model=report["pbm"], reward="ips", options=options)
    assert run.result["click_model"] == "fitted:python/pbm.h5"


def test_a_table_in_memory_is_kept_among_its_models(impressions):
    report = cltr.fit(impressions, click_model="pbm", options={"pbm.iterations": 5})
    assert report.path.name == "log-models"
    assert cltr.Log(report.path / "log.h5").has_sessions
    with pytest.raises(
        UsageError, match="a log in memory is saved beside the models; name a folder"
    ):
        cltr.fit(impressions, out="one.h5")


def test_simulating_gives_the_log_of_the_command(dataset):
    options = {"production.epochs": 2}
    log = cltr.simulate(out="python.h5", interactions=500, options=options, seed=4)
    words = ("-n", 500, "--seed", 4, "-o", "production.epochs=2", "--out", "words.h5")
    told = command("simulate", *words)
    assert log.n_clicks == told["clicks"]
    again = cltr.simulate(data=dataset, out="again.h5", interactions=500, options=options, seed=4)
    assert again.n_clicks == log.n_clicks


def test_a_simulated_log_and_its_data_in_memory_train_a_run(dataset):
    log = cltr.simulate(data=dataset, out="log.h5", interactions=2000)
    options = {"training.epochs": 1}
    run = cltr.train(log=log, data=dataset, reward="ips", skyline=False, options=options)
    assert run.n_interactions == log.n_interactions["train"]


def test_evaluating_gives_the_result_of_the_command(dataset):
    run = cltr.train(**SMALL, on_doubt="ignore", out="run")
    loss = max(run.worst_case_loss.values()) / 2
    found = cltr.load("run").evaluate(blend_to_loss=loss, gain="exponential")
    told = command("evaluate", "run", "--blend-to-loss", loss, "--gain", "exponential")
    assert same(found.result, told)
    assert found.blend == told["blend"] < 1
    other = cltr.evaluate(run, data=dataset)
    assert other.ndcg == pytest.approx(run.ndcg)
    with pytest.raises(OptionError, match=r"evaluation.gain is 'cubic'"):
        run.evaluate(gain="cubic")
    with pytest.raises(UsageError, match="blend_to_loss is 2"):
        run.evaluate(blend_to_loss=2)


def test_an_interrupted_run_is_no_run_yet(here):
    (here / "run").mkdir()
    with pytest.raises(CltrError, match="not a run folder"):
        cltr.load("run")
    (here / "run" / "run.toml").write_text("")
    with pytest.raises(CltrError, match=r"the run is not finished.*--resume run"):
        cltr.load("run")


def test_comparing_gives_the_summary_of_the_command(here):
    data = small.saved(here)
    options = {"training.epochs": 1, "production.epochs": 1, "scorer.hidden": [4]}
    found = cltr.compare(
        {"plain": "ips", "careful": "prpo/ips estimator.clip=0.5"},
        interactions=[100, 200],
        seeds=1,
        data=data,
        skyline=False,
        options=options,
        out="python",
        workers=1,
    )
    assert found.interactions == [100, 200] and not found.failed
    assert set(found.means()) == {"plain", "careful"}
    again = cltr.compare(study="python/study.toml", out="python", workers=1)
    assert again.means() == found.means()
    assert len(found.to_frame()) == found.table().num_rows == 4
    with pytest.raises(UsageError, match="give methods"):
        cltr.compare()
    with pytest.raises(KeyError, match="there are: trust-bias"):
        found.means("robots")


def test_a_run_has_its_verdict_as_an_object():
    run = cltr.train(**SMALL, out="judged")
    assert run.verdict.decision == run.result["verdict"]
    assert run.verdict.plain() == run.result["advice"]
    assert str(run.verdict).startswith(f"{run.verdict.decision}: ")
