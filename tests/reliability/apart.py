"""Attacks in a process of their own: one that has computed with threads cannot be forked."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any


def wrong_trials(attack: str) -> list[Any]:
    """Trials that failed.

    Args:
        attack: a call, such as ``killing.kill(200)``.
    """
    module = attack.split(".", maxsplit=1)[0]
    code = (
        f"import json; from tests.reliability import {module}; "
        f"print(json.dumps([one for one in {attack} if not one.survived]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found: list[Any] = json.loads(done.stdout)
    return found
