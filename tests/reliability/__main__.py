"""Attack cltr at length, and keep count.

    python -m tests.reliability --fuzz 10000     # damaged inputs
    python -m tests.reliability --kills 500      # commands killed at random moments
    python -m tests.reliability --pairs          # two processes with the same output
    python -m tests.reliability --faults         # full disks, limits, missing rights
    python -m tests.reliability --fill           # counts into docs/reliability.md

Counts go to docs/reliability-*.json. Interrupt the first two at any time: the same command resumes.
The number of a trial decides all that is random in it, so that a trial can be repeated.
"""

import argparse

from tests.reliability.counts import attack, fill
from tests.reliability.faults import all_faults
from tests.reliability.killing import kill
from tests.reliability.two_at_once import pairs
from tests.reliability.watching import fuzz


def main() -> None:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability")
    parser.add_argument("--fuzz", type=int, default=0, metavar="N", help="damaged inputs in all")
    parser.add_argument("--kills", type=int, default=0, metavar="N", help="kills in all")
    parser.add_argument("--pairs", action="store_true", help="two of every command at once")
    parser.add_argument("--faults", action="store_true", help="every command under every fault")
    parser.add_argument("--fill", action="store_true", help="write counts into the page")
    asked = parser.parse_args()
    if asked.fuzz:
        attack("fuzz", asked.fuzz, fuzz)
    if asked.kills:
        attack("kills", asked.kills, kill)
    if asked.pairs:
        attack("pairs", None, pairs)
    if asked.faults:
        attack("faults", None, all_faults)
    if asked.fill:
        fill()


if __name__ == "__main__":
    main()
