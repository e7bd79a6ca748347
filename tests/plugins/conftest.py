"""Packages of strangers."""

import pytest

from tests.strangers import Site


@pytest.fixture
def site(tmp_path, monkeypatch, fresh_registry) -> Site:
    """An empty site; what is installed there is found."""
    return Site(tmp_path, monkeypatch)
