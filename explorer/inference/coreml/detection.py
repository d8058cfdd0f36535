"""Choosing among overlapping boxes."""

import torch
from torch import Tensor

from explorer.inference.coreml.registry import rule


@rule("non_maximum_suppression")
def non_maximum_suppression(
    *,
    boxes: Tensor,
    scores: Tensor,
    iou_threshold: float,
    score_threshold: float,
    max_boxes: int,
    per_class_suppression: bool = False,
) -> tuple[Tensor, ...]:
    """Boxes (n, B, 4) as centre x, centre y, width, height; scores (n, B, K).

    Unused places hold zeros and the index -1; the last output counts the chosen boxes of each image.
    """
    images = [
        _chosen(*image, iou_threshold, score_threshold, max_boxes, per_class_suppression)
        for image in zip(boxes, scores, strict=True)
    ]
    return tuple(torch.stack(parts) for parts in zip(*images, strict=True))


def _chosen(boxes: Tensor, scores: Tensor, iou: float, least: float, most: int, per_class: bool) -> tuple[Tensor, ...]:
    best, classes = scores.max(-1)
    corners = torch.cat([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], -1)
    kept: list[int] = []
    for index in best.argsort(descending=True, stable=True).tolist():
        if len(kept) == most or float(best[index]) < least:
            break
        rivals = [other for other in kept if not per_class or classes[other] == classes[index]]
        if not rivals or float(_overlap(corners[index], corners[rivals]).max()) <= iou:
            kept.append(index)
    free = most - len(kept)
    indices = torch.tensor(kept, dtype=torch.long)
    return (
        torch.cat([boxes[indices], boxes.new_zeros(free, 4)]),
        torch.cat([scores[indices], scores.new_zeros(free, scores.shape[1])]),
        torch.cat([indices, torch.full((free,), -1)]),
        torch.tensor(len(kept)),
    )


def _overlap(box: Tensor, others: Tensor) -> Tensor:
    """Intersection over union of a box with others, all as two corners."""
    sides = (torch.minimum(box[2:], others[:, 2:]) - torch.maximum(box[:2], others[:, :2])).clamp(min=0)
    common = sides.prod(-1)
    return common / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(-1) - common).clamp(min=1e-12)
