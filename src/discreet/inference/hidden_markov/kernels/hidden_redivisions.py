"""Compiled moves that divide the events of two levels anew, in all cells of a state at once: rare levels mix by them.

Of two levels of a field let s[c] be the events of cell c, k[c] those of the first, p the first's share in the profile:

    law of p and k ∝ (p (1-p))^(emission - 1) Π_c C(s, k) p^k (1-p)^(s-k) f(y1 - k) f(y2 - s + k)      [c] left out

Where noise hides the events, p given k hardly moves. Here the k are summed out, cell by cell, p moves by a slice of its
own law, and then the k are drawn given p. A window of k in every cell is enough; it is chosen by numbers that the move
leaves as they are, and a cell whose k lies outside its window keeps it, before the move as after: nothing is cut off.
"""

from typing import NamedTuple

import numpy as np
from numba import njit

from discreet.inference.hidden_markov.kernels.hidden_counts import Noisy, log_factorial
from discreet.inference.network.kernels.network_layout import Released
from discreet.numerics.arrays import Array, Integers
from discreet.numerics.kernels.hidden_pass import draw_index

__all__ = ["redivide", "redivide_pair"]

HIDDEN = 1.0  # a division is worth it while its variance by chance in a cell is below so many of the noise's
REACH = 4.0  # deviations of k that a window holds on each side, and as many events besides
SURE = 3.0  # deviations of the share that released counts leave open
LARGEST, SMALLEST_SCALE, FAR = 1e200, 0.05, 300.0  # within which products of ratios stay finite
MOST_TERMS = 2**18  # of one pair: the work is bounded
WINDOW = 6.0  # deviations of the share's log-odds that a slice is looked for in


class PairedLevels(NamedTuple):
    """The events of two levels in all cells of a state: the law of each k on its window, and what stays as it is."""

    terms: Array
    starts: Integers  # of the terms of each cell
    lows: Integers  # the smallest k of each window
    frozen: int  # events of the first level where k lies outside
    events: int  # of both levels
    before: float  # the log-odds of the first level's share
    emission: float


@njit(cache=True, nogil=True)
def redivide(noisy: Noisy, rng: np.random.Generator) -> None:
    """In every state and field, every level with another one at random."""
    first_level = noisy.prior.first_level
    states = noisy.hidden.states.ravel()[noisy.plan.cells]
    for state in range(noisy.profiles.shape[0]):
        cells = noisy.plan.cells[states == state]
        for d in range(first_level.size - 1):
            first, width = first_level[d], first_level[d + 1] - first_level[d]
            for level in range(width if width > 2 else width - 1):
                other = int(rng.random() * (width - 1))
                other += 1 if other >= level else 0
                if cells.size > 0:
                    redivide_pair(noisy, state, cells, d, first + level, first + other, rng)


@njit(cache=True, nogil=True)
def redivide_pair(
    noisy: Noisy, state: int, cells: Integers, d: int, one: int, other: int, rng: np.random.Generator
) -> None:
    """One slice move of the share, and new counts given it."""
    levels, size, logs = noisy.counts.levels, noisy.profiles.shape[1], noisy.hidden.log_profiles[state]
    sums = np.empty_like(cells)
    here, there = 0.0, 0.0
    for i in range(cells.size):
        sums[i] = levels[cells[i] * size + one] + levels[cells[i] * size + other]
        here += noisy.released.counts[cells[i] * size + one]
        there += noisy.released.counts[cells[i] * size + other]
    events = sums.sum()
    if events == 0:
        return
    variance = noisy.plan.variances[d]
    # what released counts and sums say of the share: both stay as they are
    open_by = SURE * np.sqrt(0.5 * variance * cells.size) / events
    share = min(max(0.5 * (here - there + events) / events, 0.0), 1.0)
    likely = min(max(share, 1.0 / (events + 2.0)), 1.0 - 1.0 / (events + 2.0))
    chance = events / cells.size * likely * (1.0 - likely)
    if chance > HIDDEN * variance:
        return
    starts, lows = windows(sums, max(share - open_by, 0.0), min(share + open_by, 1.0))
    if starts[-1] > MOST_TERMS:
        return
    before = logs[one] - logs[other]
    terms = np.empty(starts[-1])
    frozen = 0
    for i in range(cells.size):
        begin, width, place = starts[i], starts[i + 1] - starts[i], cells[i] * size
        if lows[i] <= levels[place + one] < lows[i] + width:
            found = terms[begin : begin + width]
            if not walk(noisy.released, d, place + one, place + other, levels, lows[i], before, found):
                weigh(noisy, d, place + one, place + other, sums[i], lows[i], before, found)
            found /= found.sum()
        else:
            terms[begin : begin + width] = 0.0
            frozen += levels[place + one]
    width = WINDOW / np.sqrt(cells.size * chance**2 / (chance + 0.5 * variance) + 0.25 * noisy.prior.emission)
    step = slice_step(PairedLevels(terms, starts, lows, frozen, events, before, noisy.prior.emission), width, rng)
    pair = max(logs[one], logs[other]) + np.log1p(np.exp(-abs(before)))
    logs[one], logs[other] = pair - softplus(-before - step), pair - softplus(before + step)
    noisy.profiles[state, one], noisy.profiles[state, other] = np.exp(logs[one]), np.exp(logs[other])
    for i in range(cells.size):
        found = terms[starts[i] : starts[i + 1]]
        if tilt(found, step):
            levels[cells[i] * size + one] = lows[i] + draw_index(found, rng)
            levels[cells[i] * size + other] = sums[i] - levels[cells[i] * size + one]


@njit(cache=True, nogil=True)
def windows(sums: Integers, least: float, most: float) -> tuple[Integers, Integers]:
    """Where the terms of each cell begin, and the smallest k that its window holds."""
    starts, lows = np.zeros(sums.size + 1, dtype=np.int64), np.zeros(sums.size, dtype=np.int64)
    for i in range(sums.size):
        s = sums[i]
        low = s * least - REACH * np.sqrt(s * least * (1.0 - least)) - REACH
        high = s * most + REACH * np.sqrt(s * most * (1.0 - most)) + REACH
        lows[i] = max(int(low), 0)
        starts[i + 1] = starts[i] + min(int(high) + 1, s) - lows[i] + 1
    return starts, lows


@njit(cache=True, nogil=True)
def walk(
    released: Released, d: int, here: int, there: int, levels: Integers, low: int, log_odds: float, terms: Array
) -> bool:
    """The law of a cell's k on its window, up to a constant, by ratios of neighbours from the present k outwards.

    False where numbers become too large for that: `weigh` takes longer.
    """
    if released.scale[d] < SMALLEST_SCALE or abs(log_odds) > FAR:
        return False
    now, s, odds = levels[here] - low, levels[here] + levels[there], np.exp(log_odds)
    first, second = released.counts[here], released.counts[there] - s + 1.0
    gaussian, scale, rise = released.gaussian[d], released.scale[d], np.exp(1.0 / released.scale[d])
    # ratios first, which do not wait for each other, then their products
    k = float(low)
    for i in range(now):
        terms[i] = (k + 1.0) / (odds * (s - k) * growth(gaussian, scale, rise, first - k, second + k))
        k += 1.0
    terms[now] = 1.0
    for i in range(now + 1, terms.size):
        terms[i] = odds * (s - k) * growth(gaussian, scale, rise, first - k, second + k) / (k + 1.0)
        k += 1.0
    last = 1.0
    for i in range(now + 1, terms.size):
        last *= terms[i]
        terms[i] = last
    last = 1.0
    for i in range(now - 1, -1, -1):
        last *= terms[i]
        terms[i] = last
    return bool(terms.sum() < LARGEST)


@njit(cache=True, nogil=True)
def growth(gaussian: bool, scale: float, rise: float, one: float, other: float) -> float:
    """The density of the noise of both levels at k + 1 over that at k, given its residuals; `rise` is e^(1 / scale)."""
    if gaussian:
        return float(np.exp(min(max((one - other) / scale**2, -FAR), FAR)))
    if 0.0 < one < 1.0 or 0.0 < other < 1.0:  # continuous noise
        return float(rise ** (min(max(2.0 * one - 1.0, -1.0), 1.0) - min(max(2.0 * other - 1.0, -1.0), 1.0)))
    if (one >= 1.0) == (other >= 1.0):
        return 1.0
    return rise * rise if one >= 1.0 else 1.0 / (rise * rise)


@njit(cache=True, nogil=True)
def weigh(noisy: Noisy, d: int, here: int, there: int, s: int, low: int, log_odds: float, terms: Array) -> None:
    """The same, in logs."""
    plan, released, largest = noisy.plan, noisy.released, -np.inf
    for i in range(terms.size):
        k = low + i
        value = k * log_odds - log_factorial(k, plan) - log_factorial(s - k, plan)
        terms[i] = value + log_noise(released, d, here, k) + log_noise(released, d, there, s - k)
        largest = max(largest, terms[i])
    for i in range(terms.size):
        terms[i] = np.exp(terms[i] - largest)


@njit(cache=True, nogil=True)
def log_noise(released: Released, d: int, place: int, count: int) -> float:
    """The log-density of the noise of a cell that holds so many events, up to a constant."""
    residual = released.counts[place] - count
    if released.gaussian[d]:
        return float(-0.5 * (residual / released.scale[d]) ** 2)
    return float(-abs(residual) / released.scale[d])


@njit(cache=True, nogil=True)
def slice_step(pair: PairedLevels, width: float, rng: np.random.Generator) -> float:
    """How far the log-odds of the share move: a slice within a window of this width at random, which shrinks to it."""
    height = -rng.standard_exponential()
    left = -width * rng.random()
    right = left + width
    while True:
        step = left + (right - left) * rng.random()
        if log_ratio(pair, step) >= height or right - left < 1e-12:
            return step
        left, right = (step, right) if step < 0.0 else (left, step)


@njit(cache=True, nogil=True)
def log_ratio(pair: PairedLevels, step: float) -> float:
    """The log-density of the log-odds `before + step`, relative to that of `before`, with all k summed out."""
    terms, starts, lows, frozen, events, before, emission = pair
    first = softplus(-before) - softplus(-before - step)  # what the logs of the two shares win
    second = softplus(before) - softplus(before + step)
    total = emission * (first + second) + events * second + frozen * step
    power = np.exp(-abs(step))
    for i in range(lows.size):
        begin, end = starts[i], starts[i + 1]
        found = power_sum(terms[begin:end], power, step <= 0.0)
        reach = lows[i] if step <= 0.0 else lows[i] + end - begin - 1
        if found > 0.0:
            total += np.log(found) + reach * step
        elif terms[begin:end].any():
            return -np.inf
    return total


@njit(cache=True, nogil=True)
def power_sum(terms: Array, power: float, forward: bool) -> float:
    """Σ terms[j] power^j, or with the powers from the end: four Horner schemes side by side, which do not wait."""
    fourth, whole = power**4, terms.size - terms.size % 4
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    if forward:
        for j in range(terms.size - 1, whole - 1, -1):
            a = a * power + terms[j]
        for j in range(whole - 4, -1, -4):
            a, b = a * fourth + terms[j], b * fourth + terms[j + 1]
            c, d = c * fourth + terms[j + 2], d * fourth + terms[j + 3]
    else:
        for j in range(terms.size - whole):
            a = a * power + terms[j]
        for j in range(terms.size - whole, terms.size, 4):
            a, b = a * fourth + terms[j + 3], b * fourth + terms[j + 2]
            c, d = c * fourth + terms[j + 1], d * fourth + terms[j]
    return float(a + power * (b + power * (c + power * d)))


@njit(cache=True, nogil=True)
def tilt(terms: Array, step: float) -> bool:
    """The law of k given the new share, up to a constant; False where the cell keeps its k."""
    power, weight = np.exp(-abs(step)), 1.0
    for j in range(terms.size):
        i = j if step <= 0.0 else terms.size - 1 - j
        terms[i] *= weight
        weight *= power
    return bool(terms.any())


@njit(cache=True, nogil=True)
def softplus(x: float) -> float:
    """The log of 1 + e^x."""
    return max(x, 0.0) + np.log1p(np.exp(-abs(x)))
