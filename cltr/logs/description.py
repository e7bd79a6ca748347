"""What a log file says of itself, in JSON: where it came from, and what was found on the way."""

from typing import Annotated, Any

from pydantic import Field

from cltr.files.json_files import Schema

Counts = dict[str, int]


class StoredProblem(Schema):
    """A kind of problem that was found when the log was ingested."""

    problem: str
    count: int
    unit: str
    action: str
    what: str
    of: int | None = None


class SplitNote(Schema):
    """How interactions were split."""

    by: str
    valid_share: float = 0.2
    test_share: float | None = None
    seed: int = 1


class Period(Schema):
    """Impressions and clicks by rank in a stretch of time; ``from`` and ``until`` are its ends."""

    until: float
    impressions: list[int]
    clicks: list[int]


class StoredSummary(Schema):
    """What is known of interactions beyond their counts."""

    lengths: Counts = Field({})
    clicks: Counts = Field({})
    ends: Counts = Field({})
    time: dict[str, Annotated[list[float], Field(min_length=2, max_length=2)]] = Field({})
    periods: list[Period] = Field([])
    repeats: dict[str, float] = Field({})
    users: dict[str, Any] = Field({})


class Description(Schema):
    """The attribute ``description`` of a log file; a simulated log has no ``format``."""

    format: str = ""
    files: list[str] = Field([])
    users: str | None = None
    data: str = ""
    top_k: int = 1
    seed: int = 0
    sessions: bool = False
    single_impressions: bool = False
    shared_lists: bool = False
    exposure: str = ""
    digests: str = ""
    split: SplitNote | None = None
    windows: dict[str, Any] | None = None
    problems: list[StoredProblem] = Field([])
    interactions: StoredSummary = StoredSummary()
    loggers: dict[str, dict[str, int]] = Field({})
    notes: list[str] = Field([])
