"""Components that break their contract in one place."""

import numpy as np
import pytest


def broken(base: type, *, name: str = "broken", doc: str = "Breaks its contract.", **methods):
    """A component that is as ``base`` but for some methods."""
    return type(base)("Broken", (base,), {"name": name, "__doc__": doc, **methods})()


def refused(check, component, line: str, *args, **kwargs) -> None:
    with pytest.raises(AssertionError, match=line) as caught:
        check(component, *args, **kwargs)
    assert "\n" not in str(caught.value)


NOISE = np.random.default_rng(3)
