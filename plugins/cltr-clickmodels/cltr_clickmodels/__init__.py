"""Click models of users who read down the list, and a reward from any click model."""

from typing import Any

from cltr.hookspecs import hookimpl


@hookimpl
def cltr_click_models() -> list[type[Any]]:
    """Offer the models by name: ``--click-model dbn``, ``--users cascade``."""
    from cltr_clickmodels.cascade import Cascade
    from cltr_clickmodels.ccm import CCM
    from cltr_clickmodels.dbn import DBN
    from cltr_clickmodels.dcm import DCM
    from cltr_clickmodels.document_ctr import DocumentCTR
    from cltr_clickmodels.rank_ctr import RankCTR
    from cltr_clickmodels.sdbn import SDBN
    from cltr_clickmodels.ubm import UBM

    return [Cascade, DCM, CCM, DBN, SDBN, UBM, DocumentCTR, RankCTR]


@hookimpl
def cltr_rewards() -> list[type[Any]]:
    """Offer the reward by name: ``--reward click-model``."""
    from cltr_clickmodels.reward import ClickModelReward

    return [ClickModelReward]
