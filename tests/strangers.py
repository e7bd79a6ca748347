"""Packages of strangers: installed into a folder as pip would leave them."""

import sys
import textwrap
from pathlib import Path

import pytest

REWARD = """
from cltr import RewardFunction, hookimpl


class Mine(RewardFunction):
    name = "{name}"

    def mu(self, data, *, propensity_clip=0.0):
        return data.statistics.click_rate


@hookimpl
def cltr_rewards():
    return [Mine]
"""


class Site:
    """A folder of installed distributions, as pip would leave it."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.folder, self.monkeypatch, self.names = folder, monkeypatch, []
        monkeypatch.syspath_prepend(folder)

    def install(
        self,
        distribution: str,
        code: str,
        *,
        version: str = "2.0",
        requires: tuple[str, ...] = ("cltr",),
    ) -> None:
        """Write its module and its metadata; only the core and what a test installs is loaded."""
        module = distribution.replace("-", "_")
        (self.folder / f"{module}.py").write_text(textwrap.dedent(code))
        info = self.folder / f"{module}-{version}.dist-info"
        info.mkdir()
        lines = [f"Name: {distribution}", f"Version: {version}"]
        lines += [f"Requires-Dist: {line}" for line in requires]
        (info / "METADATA").write_text("\n".join(lines) + "\n")
        (info / "entry_points.txt").write_text(f"[cltr]\n{distribution} = {module}\n")
        self.monkeypatch.delitem(sys.modules, module, raising=False)
        self.names.append(distribution)
        self.monkeypatch.setenv("CLTR_PLUGINS", ",".join(self.names))

    def uninstall(self, distribution: str) -> None:
        """Remove its metadata, so that its entry point is gone."""
        module = distribution.replace("-", "_")
        for path in self.folder.glob(f"{module}-*.dist-info/*"):
            path.unlink()


def one_failure() -> str:
    """The line of the only plugin that failed, once the core is seen to be there."""
    from cltr.plugins import registry

    found = registry()
    assert "prpo" in found.names("estimator")
    (failure,) = found.failures
    assert "\n" not in failure.reason
    return f"{failure.provider}: {failure.reason}"
