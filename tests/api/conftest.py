"""Small runs from Python, on a few queries in place of the demo data."""

from pathlib import Path
from typing import Any

import pytest

from tests import small

SMALL: dict[str, Any] = {
    "interactions": 2000,
    "skyline": False,
    "reward": "ips",
    "options": {
        "scorer.hidden": [6],
        "training.epochs": 2,
        "production.epochs": 2,
        "production.learning_rate": 0.05,
    },
}
"""``cltr.train`` in a fraction of a second."""


@pytest.fixture(autouse=True)
def here(small_demo: Path) -> Path:
    """An empty folder, which is the current one."""
    return small_demo


@pytest.fixture
def impressions() -> dict[str, list[Any]]:
    """A log of 300 lists of three documents, a row for each document shown, as columns."""
    table: dict[str, list[Any]] = {
        key: [] for key in ("session", "query", "document", "position", "click")
    }
    orders = ("abc", "bca", "cab")
    for session in range(300):
        order = orders[session % 3]
        for position, document in enumerate(order, start=1):
            row = (session, f"q{session % 5}", document, position, int(document == order[0]))
            for key, value in zip(table, row, strict=True):
                table[key].append(value)
    return table


@pytest.fixture
def dataset():
    return small.dataset()
