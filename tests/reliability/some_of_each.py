"""A little of each attack on running commands, with one world: for every run of the tests."""

from collections.abc import Iterator

from tests.reliability.faults import Broken, some_faults
from tests.reliability.killing import COMMANDS, RARE, Kill, world
from tests.reliability.two_at_once import Pair, all_pairs


def some_of_each() -> Iterator[Kill | Broken | Pair]:
    """A kill of every quick command, two of it at once, and every fault."""
    names = [name for name in COMMANDS if name not in RARE]
    with world() as killer:
        for number, name in enumerate(names):
            yield killer.trial(name, number)  # which decides the signal and the moment
        yield killer.trial("fit", 0)  # Ctrl-C inside compiled code
        yield from all_pairs(killer)
        yield from some_faults(killer)
