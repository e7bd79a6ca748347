"""The hooks, one per contract. A plugin marks functions of these names with ``hookimpl``."""

from typing import Any

import pluggy

GROUP = "cltr"
hookspec = pluggy.HookspecMarker(GROUP)
hookimpl = pluggy.HookimplMarker(GROUP)


@hookspec
def cltr_click_models() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``ClickModel`` classes."""


@hookspec
def cltr_rewards() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``RewardFunction`` classes."""


@hookspec
def cltr_estimators() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``Estimator`` classes."""


@hookspec
def cltr_rankers() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``Ranker`` classes."""


@hookspec
def cltr_scorers() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``Scorer`` classes."""


@hookspec
def cltr_log_readers() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``LogReader`` classes."""


@hookspec
def cltr_metrics() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``Metric`` classes."""


@hookspec
def cltr_exporters() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``Exporter`` classes."""


@hookspec
def cltr_data_layouts() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``DataLayout`` classes."""


@hookspec
def cltr_findings() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``LogQuestion`` classes."""


@hookspec
def cltr_commands() -> list[type[Any]]:  # type: ignore[empty-body]
    """Return a list of ``Command`` classes."""
