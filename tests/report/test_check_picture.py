"""Guards the picture of a log: it is drawn for every kind of log, in every format."""

import numpy as np
import pytest

from cltr.checks import Evidence
from cltr.checks.log_check import judge
from cltr.errors import CltrError
from cltr.logs.log_file import LogFile
from cltr.report.check_picture import draw_check
from cltr.types import ClickStatistics
from tests.checks.made_logs import World, checked

WORLDS = {
    "varied": World(n=600),
    "deterministic": World(n=600, noise=0),
    "no clicks": World(n=600, relevance=(0.0, 0.0)),
    "once": World(n=300, traffic=1.0, tail=True),
    "one rank": World(n=300, top_k=1),
    "many ranks": World(n=300, documents=40, top_k=30),
}


@pytest.mark.parametrize("name", WORLDS)
@pytest.mark.parametrize("times", [True, False])
def test_every_log_has_a_picture(tmp_path, name, times):
    check = checked(WORLDS[name].rows(), tmp_path, times=times)
    draw_check(check, tmp_path / "check.png")
    assert (tmp_path / "check.png").read_bytes().startswith(b"\x89PNG")


def test_deep_lists_have_a_picture(tmp_path):
    """Only the first ranks are compared, all are drawn."""
    shown = np.full((2, 120), 900)
    part = ClickStatistics(shown, shown // 3, np.array([108_000]), np.array([0, 2]))
    log = LogFile({"train": part, "valid": part}, None)
    draw_check(judge(Evidence(log)), tmp_path / "check.png")
    assert (tmp_path / "check.png").stat().st_size > 10_000


def test_the_name_decides_the_format(tmp_path):
    check = checked(WORLDS["varied"].rows(), tmp_path)
    draw_check(check, tmp_path / "check.svg")
    text = (tmp_path / "check.svg").read_text()
    assert "<svg" in text
    with pytest.raises(CltrError, match="must end in"):
        draw_check(check, tmp_path / "check.txt")
