"""Guards numbers that depend on N: what is accepted, what they are worth, where they stop."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cltr.schedules import Schedule

N = 100_000


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        (0.5, 0.5),
        (1, 1.0),
        ("1e-3", 1e-3),
        (".25", 0.25),
        ("2.", 2.0),
        ("100/N", 100 / N),
        ("0.01/N", 0.01 / N),
        ("10/sqrt(N)", 10 / math.sqrt(N)),
        ("1/log(N)", 1 / math.log(N)),
        ("1/log10(N)", 1 / math.log10(N)),
        (" 100 / N ", 100 / N),
        ("1e2/N", 100 / N),
    ],
)
def test_value_at_n(text, value):
    assert Schedule(text)(N) == pytest.approx(value, rel=1e-15)


@pytest.mark.parametrize("text", ["100/N", "10/sqrt(N)", "1/log(N)", "1/log10(N)"])
@pytest.mark.parametrize("n", [0, 1, 2, 9])
def test_a_schedule_is_capped_at_1(text, n):
    assert Schedule(text)(n) <= 1.0
    assert Schedule(text)(0) == 1.0
    assert Schedule("100/N")(99) == 1.0
    assert Schedule("100/N")(101) < 1.0


def test_a_plain_number_is_not_capped():
    assert Schedule(3)(N) == 3.0
    assert Schedule(3).constant == 3.0
    assert Schedule("3/N").constant is None


@given(
    scale=st.floats(1e-3, 1e3),
    growth=st.sampled_from(["N", "sqrt(N)", "log(N)", "log10(N)"]),
    n=st.integers(1, 10**9),
)
def test_law_a_schedule_falls_with_n_and_stays_in_its_range(scale, growth, n):
    schedule = Schedule(f"{scale}/{growth}")
    assert 0 < schedule(2 * n) <= schedule(n) <= 1


@pytest.mark.parametrize(
    "text", ["", "N", "N/100", "100/n", "-1/N", "-1", "100/N/N", "1/(N)", "nan", "inf", "1;2", None]
)
def test_what_is_no_schedule_is_refused(text):
    with pytest.raises(ValueError, match=r"^input should be a number or a schedule such as 100/N"):
        Schedule(text)


@pytest.mark.parametrize("text", ["0", "0/N", "1e999"])
def test_it_must_be_positive_and_finite(text):
    with pytest.raises(ValueError, match=r"^input should be positive and finite$"):
        Schedule(text)


def test_it_is_written_back_as_it_was_read():
    assert Schedule(" 100 / N ").plain() == "100/N"
    assert repr(Schedule("1/log(N)")) == "1/log(N)"
    assert Schedule("0.5").plain() == 0.5
    assert Schedule(Schedule("100/N").plain()) == Schedule("100/N")


def test_equal_schedules_are_one():
    assert len({Schedule("100/N"), Schedule("100 /N"), Schedule("10/N")}) == 2
    assert Schedule("100/N") != "100/N"
