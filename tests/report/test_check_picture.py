"""Guards the picture of a log: it is drawn for every kind of log, in every format."""

import pytest

from cltr.errors import CltrError
from cltr.report.check_picture import draw_check
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


def test_the_name_decides_the_format(tmp_path):
    check = checked(WORLDS["varied"].rows(), tmp_path)
    draw_check(check, tmp_path / "check.svg")
    text = (tmp_path / "check.svg").read_text()
    assert "<svg" in text
    with pytest.raises(CltrError, match="must end in"):
        draw_check(check, tmp_path / "check.txt")
