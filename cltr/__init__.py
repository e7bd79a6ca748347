"""Safe counterfactual learning to rank from clicks.

The public names are resolved on first use, so that ``import cltr`` costs nothing:

    >>> import cltr
    >>> cltr.PRPO(clip=0.5)
    PRPO(clip=0.5, low=None, high=None, rollback=0.0)
"""

import os
from importlib import import_module
from typing import Any

__version__ = "0.1.0"

# The same bits for any number of threads: read when torch loads its matrix library, for which it
# makes no difference in speed that could be measured.
os.environ.setdefault("MKL_CBWR", "AUTO,STRICT")

_PUBLIC = {
    "ClickModel": "interfaces",
    "RewardFunction": "interfaces",
    "Estimator": "interfaces",
    "Ranker": "interfaces",
    "Scorer": "interfaces",
    "LogReader": "interfaces",
    "Options": "options",
    "hookimpl": "hookspecs",
    "CltrError": "errors",
    "Dataset": "types",
    "ClickLog": "types",
    "ClickStatistics": "types",
    "ClickData": "types",
    "Exposure": "types",
    "Rewards": "types",
    "Lists": "types",
    "Affine": "types",
    "Plain": "estimators",
    "PRPO": "prpo",
    "Band": "band",
    "PlackettLuce": "policies",
    "Deterministic": "policies",
}
__all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC:
        return getattr(import_module(f"cltr.{_PUBLIC[name]}"), name)
    raise AttributeError(f"module 'cltr' has no attribute '{name}'")


def __dir__() -> list[str]:
    return sorted([*globals(), *_PUBLIC])
