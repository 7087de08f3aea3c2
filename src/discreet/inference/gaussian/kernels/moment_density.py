"""Log-posterior density of a point of unseen moments, and its gradient: the noise, the priors, and the Jacobian.

    noise       released = n · (moments per row) + noise, term by term
    shares      Dirichlet on the cells: Σ concentration log share (the softmax's own Jacobian is in it)
    means       uniform on [-1, 1] in the coordinates' own cells: Σ log(1 - tanh²)
    variances   of features, W_jj / v_j ~ Beta(a, b), correlations LKJ; of a target's residual the same form, and
                slopes Cauchy: -log cosh b
    conjugate   `node_density` instead, with the Jacobian of all moments of that number

The slopes of Laplace noise are smoothed (`smooth`) where a trajectory is steered, never where it is accepted.
"""

import numpy as np

from discreet.inference.gaussian.kernels.compiled import entry
from discreet.inference.gaussian.kernels.conjugate_nodes import node_density
from discreet.inference.gaussian.kernels.unseen_layout import place_moments

__all__ = ["log_posterior"]

SMOOTHING = 0.1  # of a Laplace scale


@entry
def log_posterior(released, nodes, unseen, theta, gradient, shares, means, room, factor):  # type: ignore[no-untyped-def]
    """The log-density at theta; fills `gradient` and the moments (shares, means, room, factor) of the point."""
    p = nodes.conjugate.size
    cells, links = unseen.links.shape
    width = unseen.basis.shape[1]
    n = place_moments(unseen, nodes.slopes, p, theta, shares, means, room, factor)
    gradient[:] = 0.0
    for j in range(p):
        if not (room[j] > 1e-290 and factor[j, j] > 1e-150 and factor[j, j] < 1e3):
            return -np.inf
    within = np.dot(factor, factor.T)
    g_shares, g_means, g_within = np.zeros(cells), np.zeros((p, cells)), np.zeros((p, p))
    g_room, g_factor, g_log = np.zeros(p), np.zeros((p, p)), np.zeros(p)  # g_log: in the logarithms of L_ii
    value, g_n = 0.0, 0.0

    # noise
    for t in range(released.value.size):
        i, j = released.first[t], released.second[t]
        total = 0.0
        for c in range(cells):
            if released.members[t, c] != 0.0:
                one = shares[c]
                if i >= 0:
                    one *= means[i, c]
                if j >= 0:
                    one *= means[j, c]
                total += one
        if j >= 0:
            total += within[i, j]
        gap, scale = released.value[t] - n * total, released.scale[t]
        if released.laplace[t]:
            value -= abs(gap) / scale
            slope = gap / np.sqrt(gap * gap + (SMOOTHING * scale) ** 2) / scale
        else:
            value -= 0.5 * (gap / scale) ** 2
            slope = gap / (scale * scale)
        g_n += total * slope
        slope *= n
        for c in range(cells):
            if released.members[t, c] != 0.0:
                if i < 0:
                    g_shares[c] += slope
                elif j < 0:
                    g_shares[c] += slope * means[i, c]
                    g_means[i, c] += slope * shares[c]
                else:
                    g_shares[c] += slope * means[i, c] * means[j, c]
                    g_means[i, c] += slope * shares[c] * means[j, c]
                    g_means[j, c] += slope * shares[c] * means[i, c]
        if j >= 0:
            g_within[i, j] += 0.5 * slope
            g_within[j, i] += 0.5 * slope

    # weak priors of variances, and the Jacobian from the factor to what each prior is a density of
    features = p - 1 if nodes.slopes > 0.0 else p
    boxed = 0
    for j in range(features):
        boxed += 0 if nodes.conjugate[j] else 1
    for j in range(features):
        value += (features + 1.0) * np.log(factor[j, j])
        g_log[j] += features + 1.0
        if nodes.conjugate[j]:
            continue
        a, b, own = nodes.low[j], nodes.high[j], within[j, j]
        rest = room[j] - own
        if not rest > 0.0:
            return -np.inf
        power = a - 1.0 - 0.5 * (boxed - 1.0) - (nodes.lkj - 1.0)
        value += power * np.log(own) + (b - 1.0) * np.log(rest) - (a + b - 1.0) * np.log(room[j])
        value += 2.0 * (nodes.lkj - 1.0) * np.log(factor[j, j])
        g_within[j, j] += power / own - (b - 1.0) / rest
        g_room[j] += (b - 1.0) / rest - (a + b - 1.0) / room[j]
        g_log[j] += 2.0 * (nodes.lkj - 1.0)
    at_rows = links + p * width
    last = at_rows + features * (features + 1) // 2
    if nodes.slopes > 0.0:
        y = p - 1
        for k in range(features):
            if nodes.conjugate[y]:  # moments with the features instead of slopes, whatever these are
                value += 2.0 * np.log(factor[k, k]) + _log_cosh(theta[last + k])
                g_log[k] += 2.0
                gradient[last + k] += np.tanh(theta[last + k])
            else:
                value -= _log_cosh(theta[last + k])
                gradient[last + k] -= np.tanh(theta[last + k])
        value += 2.0 * np.log(factor[y, y])
        g_log[y] += 2.0
        if not nodes.conjugate[y]:
            a, b = nodes.low[y], nodes.high[y]
            rest = room[y] - within[y, y]
            if not rest > 0.0:
                return -np.inf
            value += 2.0 * (a - 1.0) * np.log(factor[y, y]) + (b - 1.0) * np.log(rest)
            value -= (a + b - 1.0) * np.log(room[y])
            g_log[y] += 2.0 * (a - 1.0)
            g_within[y, y] -= (b - 1.0) / rest
            g_room[y] += (b - 1.0) / rest - (a + b - 1.0) / room[y]

    # conjugate numbers
    if nodes.conjugate.any():
        q = unseen.design.shape[1]
        moments, adjoint = np.zeros((q + p, q + p)), np.zeros((q + p, q + p))
        for a in range(q):
            for b in range(q):
                for c in range(cells):
                    moments[a, b] += shares[c] * unseen.design[c, a] * unseen.design[c, b]
            for j in range(p):
                for c in range(cells):
                    moments[a, q + j] += shares[c] * unseen.design[c, a] * means[j, c]
                moments[q + j, a] = moments[a, q + j]
        for i in range(p):
            for j in range(p):
                moments[q + i, q + j] = within[i, j]
                for c in range(cells):
                    moments[q + i, q + j] += shares[c] * means[i, c] * means[j, c]
        for j in range(p):
            if not nodes.conjugate[j]:
                continue
            found, in_n = node_density(nodes, j, q + j, n, moments, adjoint)
            if not found > -np.inf:
                return -np.inf
            value += found
            g_n += in_n
            # from the sums of this number within levels to its coordinates: H = design' diag(shares (1 - f²)) basis
            change = np.zeros((q, width))
            for c in range(cells):
                size = shares[c] * (1.0 - means[j, c] ** 2)
                for a in range(q):
                    for b in range(width):
                        change[a, b] += unseen.design[c, a] * size * unseen.basis[c, b]
            sign, log_change = np.linalg.slogdet(change)
            if sign == 0.0 or not log_change > -np.inf:
                return -np.inf
            value += log_change
            back = np.linalg.inv(change)
            for c in range(cells):
                weight = np.dot(unseen.basis[c], np.dot(back, unseen.design[c]))
                g_shares[c] += weight * (1.0 - means[j, c] ** 2)
                g_means[j, c] -= 2.0 * weight * shares[c] * means[j, c]
        for c in range(cells):
            for a in range(q):
                for b in range(q):
                    g_shares[c] += adjoint[a, b] * unseen.design[c, a] * unseen.design[c, b]
                for j in range(p):
                    both = adjoint[a, q + j] + adjoint[q + j, a]
                    g_shares[c] += both * unseen.design[c, a] * means[j, c]
                    g_means[j, c] += both * unseen.design[c, a] * shares[c]
            for i in range(p):
                for j in range(p):
                    g_shares[c] += adjoint[q + i, q + j] * means[i, c] * means[j, c]
                    g_means[i, c] += (adjoint[q + i, q + j] + adjoint[q + j, q + i]) * shares[c] * means[j, c]
        for i in range(p):
            for j in range(p):
                g_within[i, j] += adjoint[q + i, q + j]

    # back to the factor, its rows and the room
    g_factor = np.dot(g_within + g_within.T, factor)
    if nodes.slopes > 0.0:
        y = p - 1
        for k in range(features):
            beta = nodes.slopes * np.sinh(theta[last + k])
            found = 0.0
            for j in range(k + 1):
                found += g_factor[y, j] * factor[k, j]
                g_factor[k, j] += g_factor[y, j] * beta
            gradient[last + k] += found * nodes.slopes * np.cosh(theta[last + k])
        gradient[last + features] += g_factor[y, y] * factor[y, y] + g_log[y]
        g_room[y] += 0.5 * (g_factor[y, y] * factor[y, y] + g_log[y]) / room[y]
    at = at_rows
    for i in range(features):
        own = g_factor[i, i] * factor[i, i] + g_log[i]
        for j in range(i):
            gradient[at + j] += g_factor[i, j] * factor[i, i]
            own += g_factor[i, j] * factor[i, j]
        gradient[at + i] += own
        g_room[i] += 0.5 * own / room[i]
        at += i + 1
    for j in range(p):
        for c in range(cells):
            g_shares[c] += g_room[j] * (1.0 - means[j, c] ** 2)
            g_means[j, c] -= 2.0 * g_room[j] * shares[c] * means[j, c]

    # means and shares
    at = links
    for j in range(p):
        for k in range(width):
            for c in range(cells):
                gradient[at + k] += unseen.basis[c, k] * g_means[j, c] * (1.0 - means[j, c] ** 2)
            if not nodes.conjugate[j]:
                value -= 2.0 * _log_cosh(theta[at + k])
                gradient[at + k] -= 2.0 * np.tanh(theta[at + k])
        at += width
    average, whole = 0.0, 0.0
    for c in range(cells):
        average += shares[c] * g_shares[c]
        whole += unseen.concentration[c]
    for c in range(cells):
        if links > 0:
            value += unseen.concentration[c] * np.log(shares[c])
        slope = shares[c] * (g_shares[c] - average) + unseen.concentration[c] - shares[c] * whole
        for k in range(links):
            gradient[k] += unseen.links[c, k] * slope

    # the number of rows
    grid = unseen.size_grid
    if grid.size > 0:
        below = min(max(np.searchsorted(grid, n) - 1, 0), grid.size - 2)
        rise = (unseen.size_weight[below + 1] - unseen.size_weight[below]) / (grid[below + 1] - grid[below])
        low, high = grid[0], grid[-1]
        value += unseen.size_weight[below] + rise * (n - grid[below])
        s = theta[theta.size - 1]
        value -= 2.0 * _log_cosh(0.5 * s)
        move = (n - low) * (high - n) / (high - low)
        gradient[theta.size - 1] += (g_n + rise) * move - np.tanh(0.5 * s)
    return value


@entry
def _log_cosh(x):  # type: ignore[no-untyped-def]
    return abs(x) + np.log1p(np.exp(-2.0 * abs(x))) - 0.6931471805599453
