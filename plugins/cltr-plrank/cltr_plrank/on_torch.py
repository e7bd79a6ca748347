r"""PL-Rank-3 in plain torch, for any device: rankings by perturbed scores, estimates by sums.

The formula is that of ``cltr_plrank.kernels.sampled``; :math:`S_K` is summed over the documents
that are not ranked, so that nothing cancels on peaked policies.
"""

from typing import TYPE_CHECKING

from cltr_plrank.kernels.sampled import FLOOR, WIDEST_GAP

if TYPE_CHECKING:
    import torch

CELLS_AT_ONCE = 2**22
"""Documents times samples that are worked on together: bounds memory."""


def sample(
    scores: "torch.Tensor", mask: "torch.Tensor", *, top_k: int, n_samples: int, seed: int
) -> "torch.Tensor":
    """Draw Plackett-Luce rankings, ``[queries, samples, K]``; -1 past the end of a list.

    Rankings are the order of scores with Gumbel noise, drawn in parts.
    """
    import torch

    generator = torch.Generator(scores.device).manual_seed(seed)
    depth = min(top_k, scores.shape[1])
    known = scores.masked_fill(~mask, -torch.inf)
    parts = []
    for size in _sizes(scores, n_samples):
        shape = (len(scores), size, scores.shape[1])
        noise = torch.empty(shape, dtype=scores.dtype, device=scores.device)
        noise.exponential_(generator=generator)
        best = (known[:, None] - noise.log()).topk(depth, -1).indices
        ended = torch.arange(depth, device=scores.device) >= mask.sum(-1)[:, None, None]
        parts.append(best.masked_fill(ended, -1))
    return torch.nn.functional.pad(torch.cat(parts, 1), (0, top_k - depth), value=-1)


def estimate(
    scores: "torch.Tensor",
    mask: "torch.Tensor",
    rank_weights: "torch.Tensor",
    rankings: "torch.Tensor",
    labels: "torch.Tensor",
) -> "torch.Tensor":
    """Return the mean of PL-Rank's estimate over the rankings, ``[queries, docs]``."""
    import torch

    rates = _rates(scores, mask)
    total = torch.zeros_like(rates)
    start = 0
    for size in _sizes(scores, rankings.shape[1]):
        part = rankings[:, start : start + size]
        total += _summed(rates, rank_weights, part, labels)
        start += size
    return total / max(rankings.shape[1], 1)


def _sizes(scores: "torch.Tensor", n_samples: int) -> list[int]:
    most = max(1, CELLS_AT_ONCE // max(scores.numel(), 1))
    return [min(most, n_samples - start) for start in range(0, n_samples, most)]


def _rates(scores: "torch.Tensor", mask: "torch.Tensor") -> "torch.Tensor":
    """Rates with no gap wider than need be, the highest 1; 0 on padding."""
    import torch

    falling, order = scores.masked_fill(~mask, -torch.inf).sort(-1, descending=True)
    gaps = torch.nan_to_num(-falling.diff(dim=-1), nan=0.0, posinf=0.0).clamp(max=WIDEST_GAP)
    levels = -torch.nn.functional.pad(gaps, (1, 0)).cumsum(-1)
    closed = torch.zeros_like(levels).scatter(-1, order, levels.clamp(min=FLOOR))
    return closed.exp().masked_fill(~mask, 0.0)


def _summed(
    rates: "torch.Tensor",
    rank_weights: "torch.Tensor",
    rankings: "torch.Tensor",
    labels: "torch.Tensor",
) -> "torch.Tensor":
    import torch

    ranked = rankings >= 0
    places = rankings.clamp(min=0)
    rows = torch.arange(len(rates), device=rates.device)[:, None, None]
    own_rates, own_labels = rates[rows, places], labels[rows, places]
    taken = torch.zeros(*rankings.shape[:2], rates.shape[1] + 1, device=rates.device)
    behind = torch.where(ranked, places, rates.shape[1])  # a column for ranks that are not there
    free = (taken.scatter(-1, behind, 1.0) == 0)[..., :-1].to(rates.dtype)

    def from_here(values: torch.Tensor) -> torch.Tensor:
        return values.flip(-1).cumsum(-1).flip(-1)

    left = torch.einsum("qsd,qd->qs", free, rates)[..., None]
    remaining = torch.where(ranked, left + from_here(own_rates * ranked), 1.0)
    weights = rank_weights * ranked
    gains = from_here(weights * own_labels)
    later = torch.nn.functional.pad(gains[..., 1:], (0, 1))
    own, pulled = (weights / remaining).cumsum(-1), (gains * ranked / remaining).cumsum(-1)
    direct = (later + own_rates * (own_labels * own - pulled)) * ranked
    out = torch.zeros_like(rates).scatter_add(-1, places.flatten(1), direct.flatten(1))
    shared = torch.einsum("qsd,qs->qd", free, own[..., -1])
    common = torch.einsum("qsd,qs->qd", free, pulled[..., -1])
    return out + rates * (labels * shared - common)
