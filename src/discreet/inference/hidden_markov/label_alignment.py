"""One set of names for the hidden states of many draws.

The likelihood does not know the names of states, so two draws may call the same state 1 and 2. Every draw is renamed to
agree with a reference map in as many cells as possible, an assignment problem [Papastamoulis & Iliopoulos 2010]; the
most frequent state of every cell is the next reference, until it stays:

    names = argmax over permutations of  #{cells: names[state] = reference}

States that hold no cell agree with nothing; they are told apart by their profiles. Every chain offers a first
reference, and the one whose draws agree best in the end is kept. Last, the most frequent state becomes the first.
"""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from discreet.numerics.arrays import Array

__all__ = ["aligned_names", "frequency_order", "renamed", "reordered", "state_frequencies", "under_one_name"]

Codes = NDArray[np.int64]

MOST_ROUNDS = 50  # a handful suffices; maps that are equally good could take turns for ever


def aligned_names(states: Codes, profiles: Sequence[Array], firsts: Sequence[int]) -> Codes:
    """New names (draws, states): what each state of each draw is called so that all draws mean the same by it.

    Parameters
    ----------
    states
        The states of the cells, (draws, cells).
    profiles
        One array (draws, states, levels) for every field.
    firsts
        The draws that serve as first references, one for each chain.
    """
    stacked = np.concatenate(profiles, axis=-1) / (2.0 * len(profiles))  # L1 is then the mean total variation
    names, _ = max((_settled(states, stacked, first) for first in firsts), key=lambda found: found[1])
    order = frequency_order(renamed(states, names), stacked.shape[1])
    return np.argsort(order)[names]


def under_one_name(
    states: Codes, start: Array, transitions: Array, profiles: Mapping[str, Array]
) -> tuple[Codes, dict[str, Array]]:
    """Draws (chains, draws, …) as users see them: the states of the cells, and "start", "transition" and profiles."""
    chains, length = states.shape[:2]
    flat = np.asarray(states, dtype=np.int64).reshape(chains * length, -1)
    rows = {name: values.reshape(chains * length, *values.shape[2:]) for name, values in profiles.items()}
    names = aligned_names(flat, list(rows.values()), [length * (chain + 1) - 1 for chain in range(chains)])
    moves = transitions.reshape(chains * length, *transitions.shape[2:])
    found = {
        "start": reordered(start.reshape(chains * length, -1), names),
        "transition": reordered(reordered(moves, names), names, axis=2),
        **{name: reordered(profile, names) for name, profile in rows.items()},
    }
    parameters = {name: values.reshape(chains, length, *values.shape[1:]) for name, values in found.items()}
    return renamed(flat, names).reshape(states.shape), parameters


def renamed(states: Codes, names: Codes) -> Codes:
    """States (draws, cells) under the names (draws, states)."""
    return np.take_along_axis(names, states, axis=1)


def reordered(values: Array, names: Codes, axis: int = 1) -> Array:
    """Arrays (draws, …) whose axis `axis` runs over states, in the order of the new names."""
    shape = [1] * values.ndim
    shape[0], shape[axis] = names.shape
    return np.take_along_axis(values, np.argsort(names, axis=1).reshape(shape), axis=axis)


def frequency_order(states: Codes, count: int) -> Codes:
    """States by how many cells of the modal map they hold, most first; then by cells in all draws (draws, cells)."""
    modal = np.bincount(_modal(states, count), minlength=count)
    overall = np.bincount(states.ravel(), minlength=count)
    return np.lexsort((-overall, -modal))


def state_frequencies(states: Codes, count: int) -> Array:
    """How often a cell is in each state, (cells, states), over draws (draws, cells)."""
    cells = states.shape[1]
    places = states + count * np.arange(cells)
    return np.bincount(places.ravel(), minlength=cells * count).reshape(cells, count) / len(states)


def _modal(states: Codes, count: int) -> Codes:
    return np.asarray(np.argmax(state_frequencies(states, count), axis=1))


def _settled(states: Codes, profiles: Array, first: int) -> tuple[Codes, float]:
    """Names relative to the draw `first`, then to modal maps until they stay; and the share of cells that agree."""
    reference, centre = states[first], profiles[first]
    for _ in range(MOST_ROUNDS):
        names = _names(states, profiles, reference, centre)
        modal = _modal(renamed(states, names), profiles.shape[1])
        if np.array_equal(modal, reference):
            break
        reference, centre = modal, reordered(profiles, names).mean(axis=0)
    return names, float(np.mean(renamed(states, names) == modal))


def _names(states: Codes, profiles: Array, reference: Codes, centre: Array) -> Codes:
    """The best names of every draw. Cells decide: distances of profiles add up to less than one cell."""
    from scipy.optimize import linear_sum_assignment
    from scipy.spatial.distance import cdist

    draws, count = profiles.shape[:2]
    places = (np.arange(draws)[:, np.newaxis] * count + states) * count + reference
    together = np.bincount(places.ravel(), minlength=draws * count * count).reshape(draws, count, count)
    names, most = together.argmax(axis=2), together.max(axis=2, keepdims=True)
    clear = np.all(np.sum(together == most, axis=2) == 1, axis=1)  # cells alone decide, and no two states want one name
    clear &= np.all(np.sort(names, axis=1) == np.arange(count), axis=1)
    for draw in np.flatnonzero(~clear):  # an assignment problem each
        distance = cdist(profiles[draw], centre, "cityblock") / (2.0 * count)
        _, names[draw] = linear_sum_assignment(together[draw] - distance, maximize=True)
    return np.asarray(names)
