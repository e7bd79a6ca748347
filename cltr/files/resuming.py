"""How to go on after an interruption: whoever does long work says so before it begins."""

import shlex
import sys
from itertools import pairwise

_how = ""
_program = ["cltr"]


def start_with(*words: str) -> None:
    """Remember how this program was started, such as ``torchrun --nproc-per-node 2 -m cltr``."""
    _program[:] = words


def resume_with(*words: str, plugins: bool = True) -> None:
    """Remember the command that resumes what begins now, such as ``train --resume run``.

    Args:
        words: of the command, without ``cltr``.
        plugins: give it the plugin files that this command was given.
    """
    global _how  # noqa: PLW0603  # a process does one piece of long work at a time
    _how = _command([*words, *(_plugins(sys.argv[1:]) if plugins else ())])


def resume_with_the_same() -> None:
    """Remember that the same command resumes."""
    resume_with(*sys.argv[1:], plugins=False)


def how_to_resume() -> str:
    """What to type, in words: the command that resumes, or else the same one, which starts anew.

    Example:
        >>> how_to_resume().startswith(("to resume: cltr", "to start again: cltr"))
        True
    """
    return f"to resume: {_how}" if _how else f"to start again: {_command(sys.argv[1:])}"


def _command(words: list[str]) -> str:
    return shlex.join([*_program, *words])


def _plugins(words: list[str]) -> list[str]:
    """``--plugin`` options among the words of a command.

    Example:
        >>> _plugins(["train", "--plugin", "a.py", "--seed", "1", "--plugin=b.py"])
        ['--plugin', 'a.py', '--plugin=b.py']
    """
    found = []
    for word, following in pairwise([*words, ""]):
        if word == "--plugin":
            found += [word, following]
        elif word.startswith("--plugin="):
            found.append(word)
    return found
