"""A little of each attack on running commands, with one world: for every run of the tests."""

from collections.abc import Iterator

from tests.reliability.faults import Broken, some_faults
from tests.reliability.killing import COMMANDS, Kill, kills, world
from tests.reliability.two_at_once import Pair, all_pairs


def some_of_each() -> Iterator[Kill | Broken | Pair]:
    """A kill of every quick command, two of it at once, and every fault."""
    with world() as killer:
        yield from kills(killer, range(len(COMMANDS), 2 * len(COMMANDS)))
        yield from all_pairs(killer)
        yield from some_faults(killer)
