"""How to go on after an interruption: whoever does long work says so before it begins."""

AGAIN = "run the same command again"
_how = AGAIN


def resume_with(words: str) -> None:
    """Remember how to resume what begins now."""
    global _how  # noqa: PLW0603  # a process does one piece of long work at a time
    _how = words


def how_to_resume() -> str:
    """What to tell the user; by default to run the same command again."""
    return _how
