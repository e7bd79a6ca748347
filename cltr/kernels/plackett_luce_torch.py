r"""The race of ``cltr.kernels.plackett_luce`` in plain torch, for any device.

What has arrived at time t is a product of polynomials, one factor
:math:`a_d + p_d z` per document (absent or present), of which the coefficient of :math:`z^i` is the
chance of i arrivals. Beside it goes the product in which exactly one document is marked at price
:math:`g_d f_d`, its slope times the density of arriving now: pairs multiply as

.. math:: (A_1, M_1)(A_2, M_2) = (A_1 A_2,\; A_1 M_2 + M_1 A_2),

in a tree, cut at K coefficients. The marked coefficients, weighted by rank and integrated, are
:math:`U = \sum_d g_d \omega_d`; autograd has the rest: :math:`\omega = \partial U/\partial g`, and
:math:`\partial U/\partial s` is the gradient. Nodes and accuracy are those of
``cltr.kernels.plackett_luce``.
"""

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING

from cltr.kernels.score_range import FLOOR, WIDEST_GAP

if TYPE_CHECKING:
    import torch

NODES_AT_ONCE = 16
"""Nodes of the integral that are worked on together: bounds memory."""


def expected_weights(
    scores: "torch.Tensor", mask: "torch.Tensor", rank_weights: "torch.Tensor", *, accuracy: float
) -> "torch.Tensor":
    r""":math:`\omega`, ``[queries, docs]``; 0 on padding.

    Args:
        scores: ``[queries, docs]``, float64, on any device.
        mask: True for real documents, same shape.
        rank_weights: ``[K]``
        accuracy: largest error relative to the largest rank weight.

    Example:
        >>> import torch
        >>> scores = torch.log(torch.tensor([[3.0, 1.0]], dtype=torch.float64))
        >>> weights = torch.ones(1, dtype=torch.float64)
        >>> expected_weights(scores, scores > -1, weights, accuracy=1e-7).round(decimals=6)
        tensor([[0.7500, 0.2500]], dtype=torch.float64)
    """
    import torch

    slopes = torch.zeros_like(scores).requires_grad_()
    total = torch.zeros_like(scores)
    for part in _parts(scores.detach(), slopes, mask, len(rank_weights), accuracy):
        total += torch.autograd.grad((part @ rank_weights).sum(), slopes)[0]
    return total


def gradient(
    scores: "torch.Tensor",
    slopes: "torch.Tensor",
    mask: "torch.Tensor",
    rank_weights: "torch.Tensor",
    *,
    accuracy: float,
) -> "torch.Tensor":
    r""":math:`\partial \sum_d g_d \omega_d / \partial s`, ``[queries, docs]``; 0 on padding."""
    import torch

    scores = scores.detach().requires_grad_()
    total = torch.zeros_like(scores)
    for part in _parts(scores, slopes, mask, len(rank_weights), accuracy):
        total = total + torch.autograd.grad((part @ rank_weights).sum(), scores)[0]
    return total


def rank_distribution(
    scores: "torch.Tensor", mask: "torch.Tensor", rank_weights: "torch.Tensor", *, accuracy: float
) -> "torch.Tensor":
    """P(rank(d) = k) times the weight of rank k, ``[queries, docs, K]``."""
    import torch

    top_k = len(rank_weights)
    slopes = torch.zeros_like(scores).requires_grad_()
    total = scores.new_zeros(*scores.shape, top_k)
    for part in _parts(scores.detach(), slopes, mask, top_k, accuracy):
        for k in range(top_k):
            total[..., k] += torch.autograd.grad(part[:, k].sum(), slopes, retain_graph=True)[0]
    return total * rank_weights


def _parts(
    scores: "torch.Tensor",
    slopes: "torch.Tensor",
    mask: "torch.Tensor",
    top_k: int,
    accuracy: float,
) -> "Iterator[torch.Tensor]":
    """Summands of the integral by rank, ``[queries, K]``: some nodes at a time, until done."""
    import torch

    from cltr.kernels.race_integrals import nodes_per_octave

    nodes = nodes_per_octave(top_k, accuracy)
    step = math.log(2) / nodes
    ranks = mask.sum(-1, keepdim=True).clamp(max=top_k)
    rates = _rates(scores, mask)
    first = accuracy ** (1 / 3) / rates.detach().sum(-1, keepdim=True).clamp(min=1)
    yield _below_first(rates, slopes, first, step, top_k, ranks)
    done = 0
    while True:
        rates = _rates(scores, mask)
        numbers = torch.arange(done, done + NODES_AT_ONCE, device=scores.device)
        times = (first * 2.0 ** (numbers.to(scores.dtype) / nodes))[..., None]
        hazards = rates[:, None] * times  # [queries, nodes, docs]
        arrived, marked = _product(hazards, slopes[:, None], top_k)
        yield step * marked.sum(1)
        done += NODES_AT_ONCE
        places = torch.arange(top_k, device=scores.device)
        unfinished = (arrived[:, -1].detach() * (places < ranks)).sum(-1)
        if not bool((unfinished > accuracy).any()):
            return


def _rates(scores: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
    """Rates of the clocks, the fastest 1; wide gaps between scores narrowed, padding 0."""
    import torch

    known = scores.detach().masked_fill(~mask, -math.inf)
    falling, order = known.sort(-1, descending=True)
    depths = falling - falling[:, :1]
    gaps = torch.nan_to_num(-depths.diff(dim=-1), nan=0.0, posinf=WIDEST_GAP)
    if bool((gaps.sum(-1) > -FLOOR).any()):
        narrow = torch.nn.functional.pad(gaps.clamp(max=WIDEST_GAP), (1, 0))
        depths = -narrow.cumsum(-1)
    levels = torch.zeros_like(known).scatter(-1, order, depths.clamp(min=FLOOR))
    # The value of the narrowed scores, the derivative of the scores themselves.
    finite = scores.masked_fill(~mask | scores.isinf(), 0.0)
    clocks = (finite - finite.detach() + levels.masked_fill(~mask, 0.0)).exp()
    return clocks.masked_fill(~mask, 0.0)


def _below_first(
    rates: "torch.Tensor",
    slopes: "torch.Tensor",
    first: "torch.Tensor",
    step: float,
    top_k: int,
    ranks: "torch.Tensor",
) -> "torch.Tensor":
    """Nodes before the first: the integrand is its Taylor series, their sum geometric."""
    import torch

    below1 = step * first / math.expm1(step)
    below2 = step * first**2 / math.expm1(2 * step)
    others = rates.sum(-1, keepdim=True) - rates
    priced = slopes * rates
    top = (priced * (below1 - below2 * (others + rates))).sum(-1)
    second = (priced * below2 * others).sum(-1) * (ranks[:, 0] > 1)
    return torch.nn.functional.pad(
        torch.stack([top, second], -1)[:, :top_k], (0, max(top_k - 2, 0))
    )


def _product(
    hazards: "torch.Tensor", slopes: "torch.Tensor", top_k: int
) -> "tuple[torch.Tensor, torch.Tensor]":
    """Chances of i arrivals, and the same with one document marked, ``[queries, nodes, K]``."""
    import torch

    absent = torch.exp(-hazards)
    arrived = torch.stack([absent, -torch.expm1(-hazards)], -1)[..., :top_k]
    marked = (slopes * hazards * absent)[..., None]
    while arrived.shape[2] > 1:
        if arrived.shape[2] % 2:
            one = torch.zeros_like(arrived[:, :, :1])
            one[..., 0] = 1.0
            arrived = torch.cat([arrived, one], 2)
            marked = torch.cat([marked, torch.zeros_like(marked[:, :, :1])], 2)
        left, right = arrived[:, :, ::2], arrived[:, :, 1::2]
        first, second = marked[:, :, ::2], marked[:, :, 1::2]
        marked = _times(left, second, top_k) + _times(right, first, top_k)
        arrived = _times(left, right, top_k)
    missing = (0, top_k - arrived.shape[-1]), (0, top_k - marked.shape[-1])
    pad = torch.nn.functional.pad
    return pad(arrived, missing[0])[:, :, 0], pad(marked, missing[1])[:, :, 0]


def _times(left: "torch.Tensor", right: "torch.Tensor", top_k: int) -> "torch.Tensor":
    """Product of polynomials along the last axis, cut at K coefficients."""
    import torch

    size = min(top_k, left.shape[-1] + right.shape[-1] - 1)
    shorter, longer = sorted((left, right), key=lambda part: part.shape[-1])
    total = torch.zeros_like(longer[..., :1])
    for i in range(min(shorter.shape[-1], size)):
        shifted = torch.nn.functional.pad(shorter[..., i : i + 1] * longer, (i, 0))[..., :size]
        shifted = torch.nn.functional.pad(shifted, (0, size - shifted.shape[-1]))
        total = total + shifted
    return total
