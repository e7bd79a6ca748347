"""Guards what users see: names, policy, options and their errors, and a light import."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from cltr.errors import OptionError
from cltr.plugins import registry
from cltr.testing import check_ranker
from cltr_lambdarank import LambdaLoss, LambdaRank


@pytest.mark.parametrize("name", ["lambdarank", "lambdaloss"])
def test_found_by_name(name):
    ranker = registry().find("ranker", name)()
    assert ranker.name == name
    assert ranker.policy.name == "deterministic"


@pytest.mark.parametrize("ranker", [LambdaRank(), LambdaLoss()], ids=str)
def test_conforms(ranker):
    check_ranker(ranker)


@pytest.mark.parametrize(
    ("ranker", "options", "message"),
    [
        (LambdaRank, {"sigma": 0}, "lambdarank.sigma is 0: input should be greater than 0"),
        (LambdaRank, {"mu": 1}, "no option 'lambdarank.mu'; lambdarank has: sigma"),
        (LambdaLoss, {"mu": -1}, "lambdaloss.mu is -1: input should be greater than or equal"),
    ],
)
def test_wrong_options_are_one_line(ranker, options, message):
    with pytest.raises(OptionError) as caught:
        ranker(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_import_is_light():
    code = "import cltr_lambdarank, sys; print({'torch', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_template_of_the_readme_conforms(tmp_path):
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    template = tmp_path / "template.py"
    template.write_text(readme.split("```python\n")[1].split("```")[0])
    check_ranker(runpy.run_path(str(template))["RankNet"]())
