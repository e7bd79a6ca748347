"""Conformance of questions to a log."""

from cltr.checks import USES, Evidence, Finding
from cltr.extensions import LogQuestion
from cltr.logs.log_file import LogFile
from cltr.testing.demands import check_component, demand
from cltr.testing.tiny_data import tiny_clicks


def check_question(question: LogQuestion) -> None:
    """It answers about logs with and without clicks, in whole findings, the same each time."""
    check_component(question)
    for evidence in (tiny_evidence(), tiny_evidence(n=1)):
        found = list(question.ask(evidence))
        demand(found == list(question.ask(evidence)), "the same log gives other findings")
        for finding in found:
            demand(isinstance(finding, Finding), f"it found {finding!r}, which is no Finding")
            demand(
                bool(finding.text and finding.why), f"'{finding.name}' does not say what and why"
            )
            unknown = sorted(set(finding.uses) - set(USES))
            demand(not unknown, f"'{finding.name}': no use {', '.join(unknown)}; there are {USES}")
            serious = finding.level in ("warning", "fatal")
            demand(bool(finding.advice) or not serious, f"'{finding.name}' does not say what to do")


def tiny_evidence(*, n: int = 2000) -> Evidence:
    """A small log of n interactions that stands alone, as ``cltr check`` sees it."""
    train, valid = tiny_clicks(n=n), tiny_clicks(n=max(n // 4, 1))
    statistics = {"train": train.statistics, "valid": valid.statistics}
    return Evidence(LogFile(statistics, None, lists=train.dataset))
