# SPDX-License-Identifier: MIT
"""Boxes and suppression in float64 numpy, for the detection cases: overlap matrices and masks."""
import numpy as np


def overlaps(boxes):
    """[n, n] intersection over union of boxes [n, 4]; corners in any order."""
    boxes = np.asarray(boxes, np.float64).reshape(-1, 4)
    low = np.minimum(boxes[:, :2], boxes[:, 2:])
    high = np.maximum(boxes[:, :2], boxes[:, 2:])
    sides = np.minimum(high[:, None], high) - np.maximum(low[:, None], low)
    both = np.prod(np.clip(sides, 0, None), -1)
    area = np.prod(high - low, -1)
    union = area[:, None] + area - both
    return np.divide(both, union, out=np.zeros_like(both), where=union > 0)


def hard(boxes, scores, limit, most=None, equal_drops=False):
    """Indices kept, best first; the earlier one of equal scores. scores are those of candidates."""
    iou = overlaps(boxes)
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    covers = iou >= limit if equal_drops else iou > limit
    alive = np.ones(len(order), bool)
    kept = []
    for i in order:
        if alive[i] and (most is None or len(kept) < most):
            kept.append(int(i))
            alive &= ~covers[i]
    return kept


def soft(boxes, scores, factor, least):
    """(index, decayed score); factor(iou) scales a score (None: drop), below least it is out."""
    iou = overlaps(boxes)
    scores = {i: float(s) for i, s in enumerate(scores)}
    kept = []
    while scores:
        best = min(scores, key=lambda i: (-scores[i], i))
        kept.append((best, scores.pop(best)))
        for i in list(scores):
            share = factor(iou[best, i])
            if share is None or scores[i] * share < least:
                del scores[i]
            else:
                scores[i] *= share
    return kept


def pad(rows, count, width=None):
    """Rows behind each other, zeros up to count."""
    out = np.zeros((count,) if width is None else (count, width))
    for i, row in enumerate(rows[:count]):
        out[i] = row
    return out
