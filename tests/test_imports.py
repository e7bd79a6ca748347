"""Guards who may import what: a fast start, and heavy libraries only where they are used."""

import pkgutil

import pytest

import cltr

BLOCK = "import sys\nfor name in {names}: sys.modules[name] = None\n"


def modules() -> list[str]:
    return [found.name for found in pkgutil.walk_packages(cltr.__path__, "cltr.")]


def without(*names: str) -> str:
    """Code that makes modules unimportable."""
    return BLOCK.format(names=names)


@pytest.mark.parametrize("module", ["cltr", "cltr.cli", "cltr.errors"])
def test_the_start_needs_neither_torch_nor_numpy(run_python, module):
    code = without("torch", "numpy", "numba", "h5py", "pydantic", "pluggy", "rich", "matplotlib")
    run_python(f"{code}import {module}")


def test_help_needs_neither_torch_nor_numpy(run_python):
    code = without("torch", "numpy", "numba", "h5py", "pydantic", "pluggy", "rich", "matplotlib")
    printed = run_python(f"{code}sys.argv = ['cltr', '--help']\nfrom cltr.cli import main\nmain()")
    assert "train" in printed


def test_no_module_imports_torch_or_matplotlib_at_its_top(run_python):
    imports = "\n".join(f"import {module}" for module in modules())
    run_python(f"{without('torch', 'matplotlib')}{imports}")


def test_only_kernels_import_numba_at_their_top(run_python):
    light = [name for name in modules() if not name.startswith("cltr.kernels.")]
    imports = "\n".join(f"import {module}" for module in light)
    run_python(f"{without('numba')}{imports}")


def test_finding_plugins_needs_neither_torch_nor_numba(run_python):
    code = f"""{without("torch", "numba")}
from cltr.plugins import registry
print(registry().failures)
"""
    assert run_python(code).strip() == "[]"


def test_a_run_needs_no_compiler_of_torch(run_python, tmp_path):
    """Importing it takes longer than the rest of a start."""
    words = ["cltr", "train", "-n", "1000", "--no-skyline", "--no-report"]
    words += ["-o", "training.epochs=1", "-o", "production.epochs=1", "-o", "reward.epochs=1"]
    words += ["--out", str(tmp_path / "run")]
    code = without("torch._dynamo", "torch._inductor", "sympy")
    printed = run_python(f"{code}sys.argv = {words!r}\nfrom cltr.cli import main\nmain()")
    assert "Verdict" in printed


def test_every_public_name_is_there():
    for name in cltr.__all__:
        assert getattr(cltr, name) is not None
    assert set(cltr.__all__) <= set(dir(cltr))


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="module 'cltr' has no attribute 'Prpo'"):
        _ = cltr.Prpo
