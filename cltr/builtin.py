"""What the core registers, through the same hooks as everybody else."""

from typing import Any

from cltr.hookspecs import hookimpl


@hookimpl
def cltr_click_models() -> list[type[Any]]:
    from cltr.clickmodels import Adversarial, PositionBased, TrustBias

    return [TrustBias, PositionBased, Adversarial]


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    from cltr.rewards import Labels, Naive

    return [Naive, Labels]


@hookimpl
def cltr_estimators() -> list[type[Any]]:
    from cltr.band import Band
    from cltr.estimators import Plain
    from cltr.prpo import PRPO

    return [Plain, PRPO, Band]


@hookimpl
def cltr_rankers() -> list[type[Any]]:
    from cltr.rankers import Exact

    return [Exact]


@hookimpl
def cltr_scorers() -> list[type[Any]]:
    from cltr.scorers import Linear, Mlp, Table

    return [Mlp, Linear, Table]


@hookimpl
def cltr_log_readers() -> list[type[Any]]:
    from cltr.ingest.publiclogs import OpenBanditReader, UbiReader
    from cltr.ingest.readers import ListReader, LongReader

    return [LongReader, ListReader, UbiReader, OpenBanditReader]
