"""The parts of boxes in half-spaces slopes @ z >= levels: their points nearest to 0, and smaller boxes around them.

Linear bounds turn "the foil wins" into such half-spaces. The distance of the nearest point is a lower bound for all
counterfactuals in the box.
"""

import numpy as np

from paretofoil.core.command import Norm, clip, length

Nearest = tuple[np.ndarray, np.ndarray]
"""A lower bound of the distance, or a dual value from which it is computed, (B,), and the points (B, d)."""
_NEWTON_STEPS = 8
_MISSED = 1e-9
"""Half-spaces at a distance of less than this count as reached."""
_RIDGE = 1e-6
"""Added to the curvature, so that equations of parallel half-spaces can be solved."""
_APART = 1e-9
"""Upper bound of the relative rounding error of a sum of half-spaces over a box."""
_SUM_ROUNDING = 1e-13
_TINY = 1e-12
_FLAT = 1e-150
"""Slopes below this count as 0; quotients by it stay finite."""
_RIM = 5e-8
"""Upper bound of the relative rounding error of a square root near 0."""


def nearest(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, norm: Norm) -> Nearest:
    """Return a lower bound (B,) of the distance from 0 to the points of each box with slopes @ z >= levels.

    slopes (B, K, d), levels (B, K), boxes low, high (B, d). Also return the nearest points (B, d). For one half-space
    the bound is exact. For several it is a dual value, which is never too large, and the point lies in all of them only
    approximately.
    """
    z = clip(0.0, low, high)
    bound = length(z, norm)
    if slopes.shape[1] == 0 or len(slopes) == 0:
        return bound, z
    solve = {"l2": _nearest_l2, "l1": _nearest_l1, "linf": _nearest_linf}[norm]
    distance, point = solve(slopes, levels, low, high)
    return np.maximum(bound, distance - _TINY), point


def _nearest_l2(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray) -> Nearest:
    """Maximise the dual with z(mu) = clip(mu . slopes); every mu >= 0 gives a lower bound.

    The farthest half-space alone is solved exactly. If its point is outside another half-space, Newton steps follow.
    """
    norms = np.maximum(length(slopes), _TINY)
    everyone, hardest = np.arange(len(low)), (levels / norms).argmax(axis=1)
    slope, level = slopes[everyone, hardest], levels[everyone, hardest]
    single = _step(slope, level, low, high)
    z = clip(single[:, None] * slope, low, high)
    dual = 0.5 * (z * z).sum(axis=1) + single * (level - (slope * z).sum(axis=1))
    if slopes.shape[1] == 1:
        return np.sqrt(2.0 * np.maximum(dual, 0.0)), z
    missing = levels - np.matmul(slopes, z[:, :, None])[:, :, 0]
    several = (missing > 1e-9 * norms).any(axis=1).nonzero()[0]
    if len(several):
        mu = np.zeros((len(several), slopes.shape[1]))
        mu[np.arange(len(several)), hardest[several]] = single[several]
        unit, scaled = slopes[several] / norms[several, :, None], levels[several] / norms[several]
        joint = _newton(unit, scaled, low[several], high[several], mu * norms[several])
        dual[several], z[several] = np.maximum(dual[several], joint[0]), joint[1]
    return np.sqrt(2.0 * np.maximum(dual, 0.0)), z


def _newton(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, mu: np.ndarray) -> Nearest:
    """Return the dual value and the point of an active-set method with exact line searches.

    Each step adds the half-space that is farthest away, and moves towards the solution for those with mu > 0 until the
    dual no longer rises or one mu is 0. Slopes have norm 1. The dual is infinite if a weighted sum of the half-spaces
    excludes the box.
    """
    dual, point, boxes = np.zeros(len(low)), np.zeros_like(low), np.arange(len(low))  # `boxes` are not solved yet
    identity = np.eye(slopes.shape[1])
    for step in range(_NEWTON_STEPS + 1):
        pull = (mu[:, None, :] @ slopes)[:, 0]
        z = clip(pull, low, high)
        missing = levels - (slopes @ z[:, :, None])[:, :, 0]  # (B, K), the gradient
        # The rounding error of a sum is far smaller than this share of the sizes of its terms.
        rounding = _SUM_ROUNDING * (mu * (np.abs(levels) + np.abs(z).sum(axis=1)[:, None])).sum(axis=1)
        value = 0.5 * (z * z).sum(axis=1) + (mu * missing).sum(axis=1) - rounding
        dual[boxes], point[boxes] = np.maximum(dual[boxes], value), z
        going = (np.where(mu > 0.0, np.abs(missing), missing).max(axis=1) > _MISSED) & np.isfinite(dual[boxes])
        if step == _NEWTON_STEPS or not going.any():
            break
        if not going.all():
            boxes, slopes, levels, low, high = boxes[going], slopes[going], levels[going], low[going], high[going]
            mu, pull, missing = mu[going], pull[going], missing[going]
        active, rows, worst = mu > 0.0, np.arange(len(boxes)), missing.argmax(axis=1)
        active[rows, worst] |= missing[rows, worst] > _MISSED
        free = slopes * ((pull > low) & (pull < high))[:, None, :]
        curvature = np.where(active[:, :, None] & active[:, None, :], free @ slopes.transpose(0, 2, 1), 0.0)
        curvature += identity * np.where(active, _RIDGE, 1.0)[:, :, None]
        ascent = np.linalg.solve(curvature, np.where(active, missing, 0.0)[:, :, None])[:, :, 0]
        ascent = np.where((mu > 0.0) | (ascent > 0.0), ascent, 0.0)
        slope, level = (ascent[:, None, :] @ slopes)[:, 0], (ascent * levels).sum(axis=1)
        highest = np.maximum(slope * low, slope * high).sum(axis=1)
        size = np.maximum(np.abs(low), np.abs(high)).sum(axis=1)[:, None] + np.abs(levels)
        apart = highest < level - _APART * (np.abs(ascent) * (1.0 + size)).sum(axis=1)
        dual[boxes[apart & (ascent >= 0.0).all(axis=1)]] = np.inf
        falling = ascent < 0.0
        end = np.where(falling, mu / np.where(falling, -ascent, 1.0), np.inf).min(axis=1)
        moved = mu + np.minimum(_step(slope, level, low, high, pull), end)[:, None] * ascent
        mu = np.where(moved > _MISSED * mu, moved, 0.0)  # the one that ended the step is 0 but for rounding
    return dual, point


def _step(
    slope: np.ndarray, level: np.ndarray, low: np.ndarray, high: np.ndarray, start: np.ndarray | float = 0.0
) -> np.ndarray:
    """Return the least t >= 0 with slope . clip(start + t slope, low, high) >= level, or the largest breakpoint.

    The left side is piecewise linear and non-decreasing in t: it is interpolated between its breakpoints.
    """
    moving = np.abs(slope) > _TINY
    safe = np.where(moving, slope, 1.0)
    breaks = np.zeros((len(low), 2 * low.shape[1] + 1))
    for side, place in ((low, slice(1, None, 2)), (high, slice(2, None, 2))):
        breaks[:, place] = np.where(moving, np.maximum((side - start) / safe, 0.0), 0.0)
    breaks.sort(axis=1)
    points = breaks[:, :, None] * slope[:, None, :]
    if isinstance(start, np.ndarray):
        points += start[:, None, :]
    points = clip(points, low[:, None, :], high[:, None, :])
    values = np.matmul(points, slope[:, :, None])[:, :, 0]  # (B, 2 d + 1), increasing
    right = np.minimum((values < level[:, None]).sum(axis=1), breaks.shape[1] - 1)
    left = np.maximum(right - 1, 0)
    everyone = np.arange(len(breaks))
    value_left, value_right = values[everyone, left], values[everyone, right]
    rise = value_right - value_left
    share = np.where(rise > 1e-30, (level - value_left) / np.maximum(rise, 1e-30), 1.0)
    t_left, t_right = breaks[everyone, left], breaks[everyone, right]
    return np.where(right == 0, 0.0, t_left + clip(share, 0.0, 1.0) * (t_right - t_left))


def _nearest_l1(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray) -> Nearest:
    """Return the distance and the nearest point of the farthest half-space of each box.

    Coordinates move in the order of their slopes, the largest first.
    """
    start = np.clip(0.0, low, high)
    end = np.where(slopes > 0, high[:, None, :], low[:, None, :])  # (B, K, d)
    room = np.abs(end - start[:, None, :])
    # The start is as near to 0 as the box allows, so that no move reduces the distance.
    missing = levels - (slopes @ start[:, :, None])[:, :, 0]  # (B, K)
    order = np.argsort(-np.abs(slopes), axis=2)
    weight, space = np.take_along_axis(np.abs(slopes), order, 2), np.take_along_axis(room, order, 2)
    gained = np.cumsum(weight * space, axis=2)
    before = np.concatenate([np.zeros_like(gained[:, :, :1]), gained[:, :, :-1]], axis=2)
    spent = np.clip((missing[:, :, None] - before) / np.maximum(weight, _TINY), 0.0, space)
    total = np.abs(start).sum(axis=1)[:, None] + spent.sum(axis=2)
    moved = np.zeros_like(spent)
    np.put_along_axis(moved, order, spent, 2)
    hardest = np.argmax(total, axis=1)
    everyone = np.arange(len(low))
    point = start + (np.sign(end - start[:, None, :]) * moved)[everyone, hardest]
    return total[everyone, hardest], point


def _nearest_linf(slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray) -> Nearest:
    """Return the distance and the nearest point of the farthest half-space of each box, by cubes around 0."""
    start = np.clip(0.0, low, high)
    least = np.abs(start).max(axis=1)
    ends = np.sort(np.maximum(np.concatenate([np.abs(low), np.abs(high)], axis=1), least[:, None]), axis=1)
    radii = np.concatenate([least[:, None], ends], axis=1)  # (B, 2 d + 1)
    near_low = np.clip(-radii[:, :, None], low[:, None, :], high[:, None, :])  # (B, 2 d + 1, d)
    near_high = np.clip(radii[:, :, None], low[:, None, :], high[:, None, :])
    rising, falling = np.maximum(slopes, 0.0), np.minimum(slopes, 0.0)
    values = rising @ near_high.transpose(0, 2, 1) + falling @ near_low.transpose(0, 2, 1)
    right = np.minimum((values < levels[:, :, None]).sum(axis=2), radii.shape[1] - 1)  # (B, K)
    left = np.maximum(right - 1, 0)
    value_left, value_right = (np.take_along_axis(values, i[:, :, None], 2)[:, :, 0] for i in (left, right))
    radius_left, radius_right = (np.take_along_axis(radii, i, 1) for i in (left, right))
    share = np.clip((levels - value_left) / np.maximum(value_right - value_left, _TINY), 0.0, 1.0)
    radius = np.where(right == 0, radii[:, :1], radius_left + share * (radius_right - radius_left))
    everyone, hardest = np.arange(len(low)), np.argmax(radius, axis=1)
    best = radius[everyone, hardest][:, None]
    slope = slopes[everyone, hardest]
    point = np.where(slope > 0, np.minimum(high, best), np.where(slope < 0, np.maximum(low, -best), start))
    return best[:, 0], np.clip(point, low, high)


def cut(
    slopes: np.ndarray, levels: np.ndarray, low: np.ndarray, high: np.ndarray, radius: float, norm: Norm
) -> tuple[np.ndarray, np.ndarray]:
    """Return smaller boxes that hold the points of boxes low, high (B, d) in all half-spaces and within the radius."""
    low, high = _cut_by_ball(low, high, radius, norm)
    if slopes.shape[1] == 0:
        return low, high
    gain = np.where(slopes > 0, slopes * high[:, None, :], slopes * low[:, None, :])  # (B, K, d)
    spare = gain.sum(axis=2) - levels  # how far the best corner is inside
    step = np.maximum(spare, 0.0)[:, :, None] / np.maximum(np.abs(slopes), _FLAT) + _TINY
    floor = np.where(slopes > 0, high[:, None, :] - step, -np.inf).max(axis=1)
    ceiling = np.where(slopes < 0, low[:, None, :] + step, np.inf).min(axis=1)
    if norm == "l2" and np.isfinite(radius):
        cap_low, cap_high = _cap(slopes, levels, radius)
        floor, ceiling = np.maximum(floor, cap_low.max(axis=1)), np.minimum(ceiling, cap_high.min(axis=1))
    return np.maximum(low, floor), np.minimum(high, ceiling)


def _cut_by_ball(low: np.ndarray, high: np.ndarray, radius: float, norm: Norm) -> tuple[np.ndarray, np.ndarray]:
    if not np.isfinite(radius):
        return low, high
    least = np.abs(clip(0.0, low, high))
    if norm == "linf":
        reach = np.full_like(low, radius)
    elif norm == "l1":
        reach = radius - (least.sum(axis=1, keepdims=True) - least)
    else:
        reach = np.sqrt(np.maximum(radius * radius - ((least**2).sum(axis=1, keepdims=True) - least**2), 0.0))
    reach = reach + _TINY
    return np.maximum(low, -reach), np.minimum(high, reach)


def _cap(slopes: np.ndarray, levels: np.ndarray, radius: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the range of each coordinate over the part of the ball in each half-space: (B, K, d) each."""
    norms = np.maximum(length(slopes)[:, :, None], _FLAT)
    normal = slopes / norms
    height = clip(levels[:, :, None] / norms, -2.0 * radius, 2.0 * radius)  # not farther than needed
    rim = np.sqrt(np.maximum(radius * radius - height * height, 0.0)) * np.sqrt(np.maximum(1.0 - normal * normal, 0.0))
    high = np.where(normal * radius >= height, radius, height * normal + rim)
    low = np.where(-normal * radius >= height, -radius, height * normal - rim)
    return low - _RIM * radius, high + _RIM * radius
