"""Guards options: typed, closed, frozen, and one exact line for what is wrong."""

import pytest
from pydantic import Field, ValidationError

from cltr.errors import OptionError, UsageError
from cltr.options import Options, did_you_mean


class Steps(Options):
    epochs: int = Field(3, ge=1)
    rate: float = Field(0.1, gt=0, allow_inf_nan=False)
    layers: tuple[int, ...] = (150, 75)


class Nothing(Options):
    """No options at all."""


def test_values_from_the_command_line_are_typed():
    steps = Steps.parse({"epochs": "7", "rate": "1e-2"}, owner="training")
    assert (steps.epochs, steps.rate, steps.layers) == (7, 0.01, (150, 75))


@pytest.mark.parametrize(
    ("values", "line"),
    [
        ({"epochs": 0}, "training.epochs is 0: input should be greater than or equal to 1"),
        (
            {"epochs": "x"},
            "training.epochs is 'x': input should be a valid integer, "
            "unable to parse string as an integer",
        ),
        ({"rate": float("nan")}, "training.rate is nan: input should be a finite number"),
        (
            {"layers": [150, "wide"]},
            "training.layers.1 is 'wide': input should be a valid integer, "
            "unable to parse string as an integer",
        ),
        (
            {"epoch": 3},
            "no option 'training.epoch'; training has: epochs, layers, rate. "
            "Did you mean 'epochs'?",
        ),
        ({"zzz": 3}, "no option 'training.zzz'; training has: epochs, layers, rate"),
    ],
)
def test_what_is_wrong_is_one_exact_line(values, line):
    with pytest.raises(OptionError) as caught:
        Steps.parse(values, owner="training")
    assert str(caught.value) == line


def test_a_component_without_options_says_so():
    with pytest.raises(OptionError) as caught:
        Nothing.parse({"epochs": 3}, owner="naive")
    assert str(caught.value) == "no option 'naive.epochs'; naive has: none"


def test_a_wrong_option_is_wrong_usage():
    assert issubclass(OptionError, UsageError)
    assert OptionError.exit_code == 2


def test_options_are_frozen():
    with pytest.raises(ValidationError):
        Steps().epochs = 4


def test_defaults_are_checked_like_given_values():
    class Wrong(Options):
        epochs: int = Field(0, ge=1)

    with pytest.raises(OptionError, match=r"^training\.epochs is 0: "):
        Wrong.parse({}, owner="training")


@pytest.mark.parametrize(
    ("word", "hint"),
    [("drr", ". Did you mean 'dr'?"), ("isp", ". Did you mean 'ips'?"), ("zzz", "")],
)
def test_did_you_mean(word, hint):
    assert did_you_mean(word, ["dr", "ips", "labels"]) == hint
