"""Files of small logs, for the tests of stored logs."""

from pathlib import Path

import pytest

from cltr.logs.log_file import write_log, write_sessions
from tests.logs.stored import OFFSETS, N, Talking, counts, frame, sessions


@pytest.fixture
def path(tmp_path) -> Path:
    return tmp_path / "log.h5"


@pytest.fixture
def written(path) -> Path:
    write_log(path, counts())
    return path


@pytest.fixture
def with_sessions(path) -> Path:
    drawn = {split: (n, sessions(Talking(), split, n)) for split, n in N.items()}
    write_sessions(path, frame(), drawn, OFFSETS)
    return path
