"""Guards that a frozen process does not hold up the others, and that one at work is not frozen."""

from collections import Counter

import pytest

from cltr.errors import UsageError
from cltr.training import signs_of_life as watching
from cltr.training.signs_of_life import _LOOKS, _Watch, longest_silence


class Store(Counter):
    def add(self, key, number):
        self[key] += number
        return self[key]


def watches(count=3):
    """Processes that look when a test says so, and what they give up for."""
    told = []
    return [_Watch(rank, count, 60.0, told.append) for rank in range(count)], told


def test_one_that_is_frozen_is_told_after_the_time():
    (first, second, frozen), told = watches()
    store = Store()
    frozen._look(store)
    for _ in range(_LOOKS):
        second._look(store)
        first._look(store)
    assert told == []
    second._look(store)
    assert told[0] == (
        "process 2 of this run gave no sign of life for 60 seconds (CLTR_LONGEST_SILENCE); "
        "look at its machine"
    )


def test_own_silence_is_not_that_of_others():
    """Whoever was frozen itself looks anew, and does not blame the others."""
    (first, second, _), told = watches()
    store = Store()
    for _ in range(5 * _LOOKS):
        first._look(store)
        store.add(watching._key(1), 1)
        store.add(watching._key(2), 1)
    second._look(store)
    assert told == []


def test_those_that_have_ended_are_not_frozen():
    (first, *_), told = watches()
    store = Store({watching._key(rank): watching._ENDED for rank in (1, 2)})
    for _ in range(3 * _LOOKS):
        first._look(store)
    assert told == []


def test_a_store_that_is_lost_is_the_first_process(monkeypatch):
    class Lost:
        def add(self, key, number):
            raise RuntimeError("timed out")

    (_, second, _), told = watches()
    second._limit = 0.2
    monkeypatch.setattr(watching, "_store", lambda timeout: Lost())
    second.run()
    assert told[0].startswith("process 0 of this run gave no sign of life for 0.2 seconds")


@pytest.mark.parametrize("given", ["soon", "0", "-1", "nan", "1e9"])
def test_times_that_mean_nothing_are_refused(given, monkeypatch):
    monkeypatch.setenv(watching.VARIABLE, given)
    with pytest.raises(UsageError, match="expected seconds, from 1 to 1000000"):
        longest_silence()
    monkeypatch.setenv(watching.VARIABLE, "90")
    assert longest_silence() == 90
