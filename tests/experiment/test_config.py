"""Guards the run file: words to choices, defaults written out, one exact line for what is wrong."""

import tomllib

import pytest

from cltr.api.choices import gather
from cltr.clicks.models import Adversarial, PositionBased, TrustBias
from cltr.errors import CltrError, OptionError, UnknownNameError, UsageError
from cltr.experiment.components import Components, compose, resolved
from cltr.experiment.config import ALIASES, RunConfig, parse_assignments, resolve


def again(config: RunConfig) -> RunConfig:
    """Through the run file and back."""
    return resolve(tomllib.loads(config.to_toml()))


# Defaults and round trips.


def test_the_defaults_are_those_of_the_command_line():
    config = resolve({})
    assert (config.estimator.name, config.reward.name, config.ranker.name) == (
        "prpo",
        "dr",
        "exact",
    )
    assert (config.scorer.name, config.click_model.name, config.users) == (
        "mlp",
        "trust-bias",
        None,
    )
    assert (config.metric, config.top_k, config.interactions, config.seed) == ("dcg", 5, 100_000, 1)
    assert config.propensity_clip(10_000) == 0.1


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"reward": {"name": "ips"}, "estimator": {"name": "prpo", "clip": "1/log(N)", "low": 0.3}},
        {"users": {"name": "pbm", "eta": 2.0}, "interactions": 10**9, "propensity_clip": 0.05},
        {"log": "log.h5", "metric": "clicks", "skyline": False, "training": {"epochs": 3}},
        {"scorer": {"name": "mlp", "hidden": [8, 4]}, "production": {"scorer": "linear"}},
    ],
)
def test_a_run_file_says_the_same_as_the_choices(values):
    config = resolve(values)
    assert again(config) == config
    assert again(again(config)).to_toml() == config.to_toml()


@pytest.mark.parametrize(
    "values",
    [
        {"reward": {"name": "naive"}},
        {"reward": {"name": "ips"}, "estimator": {"name": "safe", "confidence": 0.3}},
        {"reward": {"name": "naive"}, "users": {"name": "adversarial"}},
        {"reward": {"name": "naive"}, "users": {"name": "adversarial", "of": "pbm"}},
        {"reward": {"name": "naive"}, "log": "log.h5"},
    ],
)
def test_every_default_is_written_out_and_then_stands(values):
    config = resolve(values)
    parts = compose(config)
    full = resolved(config, parts)
    assert full.ranker.options == {"accuracy": 1e-7, "backend": "numba", "device": "cpu"}
    assert full.estimator.options.items() >= config.estimator.options.items()
    assert (full.users is None) == bool(config.log)
    assert resolved(full, compose(full)) == full
    read = again(full)  # without the options that are None, which TOML cannot say
    assert resolved(read, compose(read)) == full


# Estimators in the paper's words.


@pytest.mark.parametrize("alias", ALIASES)
def test_aliases_mean_an_estimator_over_a_reward(alias):
    config = resolve({"estimator": {"name": alias}})
    assert (config.estimator.name, config.reward.name) == ALIASES[alias]


def test_an_alias_keeps_the_options_of_both():
    config = resolve(
        {"estimator": {"name": "safe-ips", "confidence": 0.2}, "reward": {"name": "ips", "x": 1}}
    )
    assert config.estimator.options == {"confidence": 0.2}
    assert config.reward.options == {"x": 1}


def test_an_alias_over_another_reward_is_wrong_usage():
    with pytest.raises(UsageError) as caught:
        resolve({"estimator": {"name": "dr"}, "reward": {"name": "ips"}})
    assert str(caught.value) == (
        "--estimator dr means 'plain' over the reward 'dr', but --reward is 'ips'; "
        "use --estimator plain --reward ips"
    )
    assert caught.value.exit_code == 2


# What is wrong, in one line.


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"seeds": 3}, "no option 'seeds'; there are: "),
        ({"top_k": 0}, "top_k is 0: input should be greater than or equal to 1"),
        ({"seed": -1}, "seed is -1: input should be greater than or equal to 0"),
        ({"interactions": 0}, "interactions is 0: "),
        ({"exposure": "guessed"}, "exposure is 'guessed': input should be 'auto', 'exact', "),
        (
            {"propensity_clip": "N/2"},
            "propensity_clip is 'N/2': input should be a number",
        ),
        (
            {"metric": "dcgg"},
            "metric is 'dcgg': there are: dcg, clicks, precision, reciprocal-rank. "
            "Did you mean 'dcg'?",
        ),
        (
            {"training": {"epoch": 3}},
            "no option 'training.epoch'; training has: batch_queries, epochs, ",
        ),
        (
            {"training": {"learning_rate": float("inf")}},
            "training.learning_rate is inf: ",
        ),
        ({"training": {"weight_decay": float("nan")}}, "training.weight_decay is nan: "),
        ({"production": {"fraction": 2}}, "production.fraction is 2: "),
        ({"reward": {}}, "reward.name is {}: field required"),
        ({"estimator": "prpo"}, "estimator is 'prpo': it must be a table"),
        ({"ranker": "exact"}, "ranker is 'exact': input should be a valid dictionary"),
        (
            {"log": "x.h5", "users": {"name": "pbm"}},
            "users (--users) are for simulated clicks; leave them out with a log (--log)",
        ),
    ],
)
def test_what_is_wrong_is_one_line(values, line):
    with pytest.raises(OptionError) as caught:
        resolve(values, source="run.toml")
    assert str(caught.value).startswith(f"run.toml: {line}")
    assert "\n" not in str(caught.value)


def test_a_run_file_that_cannot_be_read(tmp_path):
    with pytest.raises(CltrError) as caught:
        RunConfig.load(tmp_path / "none.toml")
    path = tmp_path / "none.toml"
    assert str(caught.value) == f"{path}: cannot read run file: No such file or directory"
    with pytest.raises(CltrError, match="is a folder; expected a file"):
        RunConfig.load(tmp_path)


@pytest.mark.parametrize("content", [b"estimator = {", b"\xff\xfe\x00", b"a = 1\na = 2\n"])
def test_a_run_file_that_is_no_toml(tmp_path, content):
    path = tmp_path / "run.toml"
    path.write_bytes(content)
    with pytest.raises(OptionError) as caught:
        RunConfig.load(path)
    assert str(caught.value).startswith(f"{path}: not TOML: ")
    assert "\n" not in str(caught.value)


# Options on the command line.


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("estimator.clip=100/N", {"estimator": {"clip": "100/N"}}),
        ("estimator.clip=0.5", {"estimator": {"clip": 0.5}}),
        ("click-model.eta=2", {"click_model": {"eta": 2}}),
        ("click_model.eta=2", {"click_model": {"eta": 2}}),
        ("scorer.hidden=64,32", {"scorer": {"hidden": [64, 32]}}),
        ("scorer.hidden=[64]", {"scorer": {"hidden": [64]}}),
        ("users.of=pbm", {"users": {"of": "pbm"}}),
        ("training.batch-queries=4", {"training": {"batch_queries": 4}}),
        ("estimator.form=a=b", {"estimator": {"form": "a=b"}}),
    ],
)
def test_words_to_options(word, expected):
    assert parse_assignments([word]) == expected


def test_the_last_word_counts():
    found = parse_assignments(["estimator.clip=1", "estimator.low=0", "estimator.clip=0.5"])
    assert found == {"estimator": {"clip": 0.5, "low": 0}}


@pytest.mark.parametrize("word", ["clip=1", "estimator.clip", "estimator=1", "estimator.=1", "="])
def test_words_that_are_no_option(word):
    with pytest.raises(UsageError) as caught:
        parse_assignments([word])
    assert str(caught.value) == (
        f"-o {word}: expected role.key=value, such as estimator.clip=100/N"
    )


def test_a_role_that_there_is_not():
    with pytest.raises(UsageError) as caught:
        parse_assignments(["estimater.clip=1"])
    assert str(caught.value) == (
        "-o estimater.clip: no role 'estimater'; there are: estimator, reward, ranker, scorer, "
        "click-model, users, training, production, evaluation. Did you mean 'estimator'?"
    )


def test_run_file_then_flags_then_options(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('seed = 1\ntop_k = 3\n[estimator]\nname = "prpo"\nclip = 0.1\nlow = 0.2\n')
    flags = {"seed": 2, "estimator": "prpo", "reward": None}
    found = gather(flags, {"estimator.clip": 0.3, "ranker.accuracy": 1e-4}, path)
    assert found == {
        "seed": 2,
        "top_k": 3,
        "estimator": {"name": "prpo", "clip": 0.3, "low": 0.2},
        "ranker": {"name": "exact", "accuracy": 1e-4},
    }


def test_another_component_drops_the_options_of_the_first(tmp_path):
    path = tmp_path / "run.toml"
    path.write_text('[estimator]\nname = "prpo"\nclip = 0.1\n')
    assert gather({"estimator": "plain"}, None, path) == {"estimator": {"name": "plain"}}


@pytest.mark.parametrize(
    ("flags", "options"), [({"estimator": "prpo"}, None), ({}, {"estimator.clip": 1})]
)
def test_a_table_that_is_none_is_one_line_also_under_flags(tmp_path, flags, options):
    path = tmp_path / "run.toml"
    path.write_text('estimator = "prpo"\n')
    with pytest.raises(OptionError) as caught:
        gather(flags, options, path)
    line = "estimator is 'prpo': it must be a table, written below [estimator]"
    assert str(caught.value) == line


# Names to components.


def test_users_are_the_assumed_ones_unless_told_otherwise():
    config = resolve({"reward": {"name": "naive"}, "click_model": {"name": "pbm", "eta": 2.0}})
    parts = compose(config)
    assert parts.users is parts.click_model
    assert parts.users.options.eta == 2.0


def test_adversarial_users_reverse_the_assumed_model_as_it_is():
    config = resolve({"click_model": {"name": "pbm", "eta": 2.0}, "users": {"name": "adversarial"}})
    users = Components(config).users
    assert isinstance(users, Adversarial)
    assert users.model.options.eta == 2.0
    named = resolve({"users": {"name": "adversarial", "of": "pbm"}})
    assert isinstance(Components(named).users.model, PositionBased)
    assert isinstance(Components(resolve({})).users, TrustBias)


def test_the_estimator_wraps_the_reward():
    parts = compose(resolve({"reward": {"name": "naive"}}))
    assert parts.estimator.reward is parts.reward


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"estimator": {"name": "prpo", "clip": 1.5}}, "estimator.clip is 1.5: it must lie in "),
        ({"estimator": {"name": "prpo", "clap": 1}}, "no option 'estimator.clap'; estimator has: "),
        ({"users": {"name": "pbm", "eta": -1}}, "users.eta is -1: "),
        ({"ranker": {"name": "exact", "accuracy": "x"}}, "ranker.accuracy is 'x': "),
        ({"scorer": {"name": "linear", "hidden": 3}}, "no option 'scorer.hidden'; "),
        (
            {"click_model": {"name": "trust-bias", "trust": [0.5]}},
            "click-model: examination and trust need the same number of ranks",
        ),
    ],
)
def test_wrong_options_of_a_component_name_its_role(values, line):
    with pytest.raises(OptionError) as caught:
        compose(resolve({"reward": {"name": "naive"}, **values}))
    assert str(caught.value).startswith(line)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "role", ["estimator", "reward", "ranker", "scorer", "click_model", "users"]
)
def test_an_unknown_component_says_what_is_installed(role):
    with pytest.raises(UnknownNameError) as caught:
        compose(resolve({"reward": {"name": "naive"}, role: {"name": "nonesuch"}}))
    kind = "click-model" if role == "users" else role.replace("_", "-")
    assert str(caught.value).startswith(f"no {kind} named 'nonesuch'; installed: ")
    assert "(cltr " in str(caught.value)
