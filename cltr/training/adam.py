"""Adam for the parameters of a module, with its state as plain arrays."""

from collections.abc import Iterable, Mapping
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cltr.training.threads import one_thread

if TYPE_CHECKING:
    import torch

SMALL = 1_000_000
"""Numbers below which one thread moves them faster than several."""
FIRST_DECAY, SECOND_DECAY, SMALLEST = 0.9, 0.999, 1e-8


class Adam:
    """AdamW by torch's fused kernel; the same bits as ``torch.optim.AdamW(fused=True)``.

    That class is not used, since it imports torch's compiler, which takes longer than most runs on
    small data. Decay is apart from the gradient: Adam makes a full step of any gradient, so where
    slopes are 0, at PRPO's bounds, decay within it would carry the policy away.
    """

    def __init__(
        self,
        parameters: "Iterable[tuple[str, torch.Tensor]]",
        *,
        learning_rate: float,
        weight_decay: float = 0.0,
    ) -> None:
        import torch

        given = {name: one for name, one in parameters if one.requires_grad}
        self._steps = torch.zeros(len(given))
        """One number for each parameter; slots have views of them."""
        self._slots = {
            name: (one, torch.zeros_like(one), torch.zeros_like(one), steps)
            for (name, one), steps in zip(given.items(), self._steps, strict=True)
        }
        self._rate, self._decay = learning_rate, weight_decay
        self._small = sum(slot[0].numel() for slot in self._slots.values()) < SMALL

    def clear(self) -> None:
        """Forget the gradients of the last step."""
        for parameter, *_ in self._slots.values():
            parameter.grad = None

    def gradients(self) -> "list[torch.Tensor]":
        """Those of all parameters; 0 where there is none."""
        import torch

        found = []
        for parameter, *_ in self._slots.values():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            found.append(parameter.grad)
        return found

    def step(self) -> None:
        """Move all parameters that have a gradient."""
        import torch

        moved = [slot for slot in self._slots.values() if slot[0].grad is not None]
        groups: dict[torch.dtype, list[Any]] = {}
        for slot in moved:
            groups.setdefault(slot[0].dtype, []).append(slot)
        with torch.no_grad(), one_thread() if self._small else nullcontext():
            if len(moved) == len(self._slots):
                self._steps.add_(1)  # all at once: one call for each takes longer than a step
            else:
                for slot in moved:
                    slot[3].add_(1)
            for slots in groups.values():
                parameters, means, squares, steps = map(list, zip(*slots, strict=True))
                torch._fused_adamw_(
                    parameters,
                    [parameter.grad for parameter in parameters],
                    means,
                    squares,
                    [],
                    steps,
                    lr=self._rate,
                    weight_decay=self._decay,
                    amsgrad=False,
                    beta1=FIRST_DECAY,
                    beta2=SECOND_DECAY,
                    eps=SMALLEST,
                    maximize=False,
                )

    def state(self) -> dict[str, NDArray[Any]]:
        """Moments and numbers of steps, copied."""
        return {
            f"{name}/{which}": tensor.numpy().copy()
            for name, (_, *tensors) in self._slots.items()
            for which, tensor in zip(("mean", "square", "steps"), tensors, strict=True)
        }

    def load(self, state: Mapping[str, NDArray[Any]]) -> None:
        """Go on from a state of :meth:`state`."""
        import torch

        for name, (_, *tensors) in self._slots.items():
            for which, tensor in zip(("mean", "square", "steps"), tensors, strict=True):
                tensor.copy_(torch.from_numpy(np.array(state[f"{name}/{which}"])))
