"""Guards what users see: names, options and their errors, and a light import."""

import runpy
import subprocess
import sys
from pathlib import Path

import pytest

from cltr.errors import OptionError
from cltr.plugins import registry
from cltr.testing import check_ranker
from cltr_plrank import Placement, PLRank, Reinforce, StochasticRank

NAMES = ["pl-rank", "pl-rank-1", "pl-rank-2", "placement", "reinforce", "stochastic-rank"]


@pytest.mark.parametrize("name", NAMES)
def test_found_by_name(name):
    ranker = registry().find("ranker", name)()
    assert ranker.name == name
    assert ranker.policy.name == "plackett-luce"


@pytest.mark.parametrize("name", NAMES)
def test_conforms(name):
    check_ranker(registry().find("ranker", name)())


def test_conforms_with_gaussian_noise():
    check_ranker(StochasticRank(noise="gaussian", sigma=0.5))


@pytest.mark.parametrize(
    ("ranker", "options", "message"),
    [
        (PLRank, {"samples": 0}, "pl-rank.samples is 0: input should be greater than or equal"),
        (
            PLRank,
            {"sample": 9},
            "no option 'pl-rank.sample'; pl-rank has: backend, centre, device, samples",
        ),
        (Placement, {"samples": 1}, "baseline=loo needs at least 2 samples"),
        (Reinforce, {"samples": 1}, "baseline=loo needs at least 2 samples"),
        (Reinforce, {"baseline": "mean"}, "reinforce.baseline is 'mean': input should be 'loo'"),
        (StochasticRank, {"sigma": 2}, "sigma goes with noise=gaussian"),
        (StochasticRank, {"sigma": 0}, "stochastic-rank.sigma is 0: input should be greater"),
    ],
)
def test_wrong_options_are_one_line(ranker, options, message):
    with pytest.raises(OptionError) as caught:
        ranker(**options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_import_is_light():
    code = "import cltr_plrank, sys; print({'torch', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_template_of_the_readme_conforms(tmp_path):
    readme = (Path(__file__).parent.parent / "README.md").read_text()
    template = tmp_path / "template.py"
    template.write_text(readme.split("```python\n")[1].split("```")[0])
    check_ranker(runpy.run_path(str(template))["TopOne"]())
