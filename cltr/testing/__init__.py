"""Conformance: what every component of a plugin must pass, one function for each contract.

A plugin's whole test file is three lines::

    from cltr.testing import check_reward
    from my_package import MyReward
    def test_conforms(): check_reward(MyReward())

Each check raises ``AssertionError`` with one sentence on what is wrong.
"""

from cltr.testing.click_models import check_click_model
from cltr.testing.commands import check_command
from cltr.testing.data_layouts import check_data_layout
from cltr.testing.estimators import check_estimator
from cltr.testing.exporters import check_exporter
from cltr.testing.log_readers import check_log_reader
from cltr.testing.metrics import check_metric
from cltr.testing.questions import check_question, tiny_evidence
from cltr.testing.rankers import check_ranker
from cltr.testing.rewards import check_reward
from cltr.testing.scorers import check_scorer
from cltr.testing.tiny_data import TOP_K, tiny_clicks, tiny_dataset

__all__ = [
    "TOP_K",
    "check_click_model",
    "check_command",
    "check_data_layout",
    "check_estimator",
    "check_exporter",
    "check_log_reader",
    "check_metric",
    "check_question",
    "check_ranker",
    "check_reward",
    "check_scorer",
    "tiny_clicks",
    "tiny_dataset",
    "tiny_evidence",
]
