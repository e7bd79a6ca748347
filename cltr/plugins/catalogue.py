"""Components by role and name, with who provides them and what could not be loaded."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from cltr import extensions, interfaces
from cltr.errors import UnknownNameError
from cltr.options import did_you_mean
from cltr.plugins.compatibility import absent_plugins
from cltr.plugins.origins import Provider, call, one_line, origin_of

ROLES: dict[str, tuple[str, type[interfaces.Component]]] = {
    "click-model": ("cltr_click_models", interfaces.ClickModel),
    "reward": ("cltr_rewards", interfaces.RewardFunction),
    "estimator": ("cltr_estimators", interfaces.Estimator),
    "ranker": ("cltr_rankers", interfaces.Ranker),
    "scorer": ("cltr_scorers", interfaces.Scorer),
    "log-reader": ("cltr_log_readers", interfaces.LogReader),
    "metric": ("cltr_metrics", extensions.Metric),
    "exporter": ("cltr_exporters", extensions.Exporter),
    "data-layout": ("cltr_data_layouts", extensions.DataLayout),
    "finding": ("cltr_findings", extensions.LogQuestion),
    "command": ("cltr_commands", extensions.Command),
}
"""Role: the hook that registers it, and the contract that it keeps."""


@dataclass(frozen=True)
class Failure:
    """A plugin that could not be loaded, and why, in one line."""

    provider: Provider
    reason: str
    traceback: str = ""


@dataclass(frozen=True)
class Found:
    """What one plugin registers, and what of it was ignored."""

    components: list[tuple[str, type[Any]]]
    notes: list[str] = field(default_factory=list)


@dataclass
class Registry:
    """Components by role and name, with who provides them."""

    components: dict[str, dict[str, list[tuple[type[Any], Provider]]]] = field(
        default_factory=lambda: {role: {} for role in ROLES}
    )
    failures: list[Failure] = field(default_factory=list)
    providers: list[Provider] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    left_out: list[Provider] = field(default_factory=list)
    """Installed packages that ``CLTR_PLUGINS`` does not name."""

    def add(self, provider: Provider, load: Callable[[], Found]) -> None:
        """Collect all that one plugin registers; a failure is kept, not raised."""
        try:
            found = load()
        except (Exception, SystemExit) as error:  # whatever a stranger's module raises
            lines = "".join(traceback.format_exception(error))
            self.failures.append(Failure(provider, one_line(error), lines))
            return
        self.providers.append(provider)
        self.notes += [f"plugin {provider}: {note}" for note in found.notes]
        for role, component in found.components:
            self.components[role].setdefault(component.name, []).append((component, provider))

    def names(self, role: str) -> list[str]:
        """The names registered for a role, sorted."""
        return sorted(self.components[role])

    def find(self, role: str, name: str) -> type[Any]:
        """The class registered under a name, or an error that says what is there."""
        entries = self.components[role].get(name, [])
        if len(entries) == 1:
            return entries[0][0]
        if entries:
            packages = [str(provider) for _, provider in entries]
            raise UnknownNameError(
                f"{role} '{name}' comes from both {' and '.join(packages)}; "
                f"uninstall one, or set CLTR_PLUGINS={entries[0][1].distribution}"
            )
        installed = ", ".join(
            f"{known} ({providers[0][1]})"
            for known, providers in sorted(self.components[role].items())
        )
        failed = "".join(
            f"; {failure.provider} failed to load: {failure.reason}" for failure in self.failures
        ) + "".join(f"; {note}" for note in self.notes if note.endswith("left out"))
        meant = did_you_mean(name, self.components[role])
        raise UnknownNameError(
            f"no {role} named '{name}'; installed: {installed or 'none'}{failed}"
            + (meant or self._absent())
        )

    def _absent(self) -> str:
        """Packages that might have had the name: not loaded, or not installed."""
        left_out = ", ".join(provider.distribution for provider in self.left_out)
        told = f"; CLTR_PLUGINS leaves out {left_out}" if left_out else ""
        missing = " ".join(absent_plugins())
        return told + (f"; not installed: pip install {missing}" if missing else "")

    def create(self, role: str, name: str, /, *parts: Any, **options: Any) -> Any:
        """A component by name; what goes wrong in its constructor is said to be its own fault."""
        component = self.find(role, name)
        return call(origin_of(component), "__init__", component, *parts, **options)

    def provider_of(self, component: type[Any]) -> Provider | None:
        """Who registers a class; None for one that nobody does."""
        for known in self.components.values():
            for entries in known.values():
                for candidate, provider in entries:
                    if candidate is component:
                        return provider
        return None

    def clashes(self) -> list[str]:
        """One line for each name that two packages register."""
        return [
            f"{role} '{name}' comes from both {' and '.join(str(p) for _, p in entries)}"
            for role, known in self.components.items()
            for name, entries in known.items()
            if len(entries) > 1
        ]

    def warnings(self) -> list[str]:
        """One line for each plugin that failed, each hook ignored and each name that clashes."""
        failed = [f"plugin {each.provider} failed: {each.reason}" for each in self.failures]
        return failed + self.notes + self.clashes()
