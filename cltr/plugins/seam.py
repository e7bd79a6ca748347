"""The seam between components and the core: what goes wrong in a component is said to be its own.

Every class that is registered gets its contract's methods guarded. A guarded method checks what it
returns (``cltr.plugins.results``), and an exception that it raises becomes one line that names the
component, its package and its version.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from typing import Any

from cltr.documents import Documents
from cltr.interfaces import Ascent, Model, Policy, Ranker, Scorer
from cltr.plugins.origins import ORIGIN, Origin, Provider, call, origin_of
from cltr.plugins.results import CHECKS, MODEL_CHECKS, POLICY_CHECKS, Check, scores_problem
from cltr.types import Floats

Method = Callable[..., Any]
DEFAULTS_TOO = ("slope", "divergence_slope")
"""Methods whose default computes with what the component itself gives; other defaults are safe."""


def guard(component: type[Any], role: str, provider: Provider) -> None:
    """Guard the methods of a registered class; once more changes nothing."""
    setattr(component, ORIGIN, Origin(role, component.name, provider))
    for contract, checks in CHECKS.items():
        if issubclass(component, contract):
            for name, check in checks.items():
                inherited = getattr(component, name) is getattr(contract, name)
                if not inherited or name in DEFAULTS_TOO:
                    _replace(component, name, _checking(name, check))
    if issubclass(component, Scorer):
        _replace(component, "build", _building)


def guard_ranker(ranker: Ranker) -> None:
    """A ranker has a policy; one that is not the core's own is guarded in the ranker's name."""
    origin = origin_of(ranker)
    policy = getattr(ranker, "policy", None)
    if origin is None:
        return
    if not isinstance(policy, Policy):
        raise origin.fault(f"policy must be a cltr.interfaces.Policy, got {policy!r}")
    if not type(policy).__module__.startswith("cltr.policies."):
        setattr(type(policy), ORIGIN, origin)
        for name, check in POLICY_CHECKS.items():
            _replace(type(policy), name, _checking(name, check))


def _guard_model(model: Model, origin: Origin) -> None:
    """Guard a model, in the name of the scorer that built it."""
    setattr(model, ORIGIN, origin)
    for name, check in MODEL_CHECKS.items():
        _replace(type(model), name, _checking(name, check))
    _replace(type(model), "step", _stepping)


def _replace(owner: type[Any], name: str, guarding: Callable[[Method], Method]) -> None:
    """Put a guard around a method, or around what the guard of a base class is around."""
    method = getattr(owner, name)
    if "guarded" in vars(method) and name in vars(owner):
        return
    original = vars(method).get("guarded", method)
    guarded = wraps(original)(guarding(original))
    vars(guarded)["guarded"] = original
    setattr(owner, name, guarded)


def _checking(name: str, check: Check) -> Callable[[Method], Method]:
    """A guard that checks what a method returns."""

    def guard_of(method: Method) -> Method:
        def guarded(self: Any, *given: Any, **named: Any) -> Any:
            origin = origin_of(self)
            found = call(origin, name, method, self, *given, **named)
            problem = check(found, *given, **named) if origin else ""
            if origin and problem:
                raise origin.fault(f"{name} {problem}")
            return found

        return guarded

    return guard_of


def _building(method: Method) -> Method:
    """Guard ``Scorer.build``, and the model that it gives."""

    def build(self: Scorer, *given: Any, **named: Any) -> Any:
        origin = origin_of(self)
        model = call(origin, "build", method, self, *given, **named)
        if origin and not isinstance(model, Model):
            raise origin.fault(f"build must return a Model, got {type(model).__name__}")
        if origin:
            _guard_model(model, origin)
        return model

    return build


def _stepping(method: Method) -> Method:
    """Guard ``Model.step``: the scores that it asks with must be finite."""

    def step(self: Model, documents: Documents, ascent: Ascent) -> None:
        origin = origin_of(self)
        checked = _CheckedAscent(ascent, documents, origin) if origin else ascent
        call(origin, "step", method, self, documents, checked)

    return step


@dataclass(frozen=True)
class _CheckedAscent:
    """Asks on behalf of a model, once its scores are known to be finite."""

    ascent: Ascent
    documents: Documents
    origin: Origin

    def __call__(self, scores: Floats) -> Floats:
        self._check(scores)
        return self.ascent(scores)

    def curvature(self, scores: Floats) -> Floats | None:
        self._check(scores)
        return self.ascent.curvature(scores)

    def _check(self, scores: Floats) -> None:
        problem = scores_problem(scores, self.documents)
        if problem:
            raise self.origin.fault(f"scores {problem}")
