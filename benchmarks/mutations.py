# ruff: noqa: E501 (the mutated lines are quoted as they are)
"""Our own mutations, file by file: what is written, what a careless hand could have written, and what that would do.

The old text must occur exactly once in its file. A mutation that no test can notice, because nothing that matters
changes, says so as a fourth part.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Mutation:
    """One line, broken."""

    file: str
    """Within the package."""
    tests: tuple[str, ...]
    """Within `tests`: those that guard the file, the quickest first."""
    old: str
    new: str
    reason: str
    """What would go wrong, so that it must be noticed."""
    harmless: str = ""
    """Why it need not be noticed after all; empty for most."""

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}"


def _in(file: str, tests: str, *lines: Sequence[str]) -> Iterator[Mutation]:
    return (Mutation(file, tuple(tests.split()), *line) for line in lines)


PROOF = "proof/test_growth_lines.py proof/test_proof_lines.py"
SEARCH = "search/test_search_lines.py search/test_start_lines.py"
CALL = "explanation/test_quoted_lines.py explanation/test_outer_call_lines.py"
WORDS = "core/test_word_lines.py"
REPLAY = "pcn/test_replay_lines.py pcn/test_relabel_lines.py"
STUDY = "study/test_study_lines.py study/test_study_file_lines.py"

MUTATIONS: tuple[Mutation, ...] = (
    *_in(
        "proof/bound.py",
        f"{PROOF} proof/test_bound.py",
        ("least - network.pads[layer], most + network.pads[layer]", "least, most", "hidden rounding is not covered"),
        ("least - network.pads[layer], most", "least + network.pads[layer], most", "the lower pad goes inwards"),
        ("network.biases[-1] + network.pads[-1]", "network.biases[-1]", "the margin's own rounding is not covered"),
        ("_SMALL_WIDTH = 1e-6", "_SMALL_WIDTH = 0.0", "tiny intervals take the chord's slope, which is cancellation"),
        ("+ _rows(np.abs(self.slopes), radius)", "- _rows(np.abs(self.slopes), radius)", "the lowest, not the highest"),
        ("return -upper_bounds(network.negated()", "return -upper_bounds(network", "lower bounds of another network"),
        ("center - radius, center + radius", "center - radius / 2, center + radius / 2", "intervals of half the width"),
        ("np.maximum(least, line_least), np.minimum(most, line_most)", "least, most", "deep bounds are intervals only"),
        ("sign * HalfSpaces(slopes, offsets)", "HalfSpaces(slopes, offsets)", "the lower side of deep layers is wrong"),
        (
            "_rows(up, lines.offset_high) + _rows(down, lines.offset_low)",
            "_rows(up, lines.offset_high)",
            "the offsets of the lower lines are lost",
            "relu, the only activation whose lines are not parallel, has none",
        ),
        ("offsets = offsets + slopes @ network.biases[k]", "offsets = offsets", "biases of hidden layers are dropped"),
        ("slope = np.clip(slope, 1e-300, 0.25)", "slope = np.clip(slope, 1e-300, 0.2)", "slopes below the steepest"),
        ("np.maximum(above, touch), above)", "above, above)", "the touching point above is forgotten"),
        ("np.minimum(below, 1.0 - touch), below)", "below, below)", "the touching point below is forgotten"),
        ("slope = 4.0 * lines.slope_low", "slope = 2.0 * lines.slope_low", "tanh with half its slope"),
        ("-slope_high * low)", "slope_high * low)", "the chord of relu with the wrong sign"),
        ("(high > -low).astype", "(high < -low).astype", "the looser line below relu is taken"),
        ("half @ np.abs(weight).T", "half @ weight.T", "the spread of the short way cancels"),
    ),
    *_in(
        "proof/branch.py",
        f"{PROOF} search/test_exact.py",
        ("highest(low, high) >= claim.level)", "highest(low, high) >= claim.level + 1e-3)", "rejected 1e-3 too early"),
        ("undecided = min(undecided, children.bound[small].min(initial=np.inf))", "pass", "small boxes are forgotten"),
        ("Stop.PROVEN if undecided >= reached else Stop.COMPLETE", "Stop.PROVEN", "closed, whatever is undecided"),
        ("min(pool.bound.min(), undecided)", "min(pool.bound.max(), undecided)", "at a limit the largest bound"),
        ("min(pool.bound.min(), undecided)", "pool.bound.min()", "at a limit the undecided are ignored"),
        ("min(reached, undecided)", "reached", "at the end the undecided are ignored"),
        ("seen >= effort.max_boxes or now() >= effort.deadline:", "seen >= effort.max_boxes:", "never out of time"),
        ("seen >= effort.max_boxes or now() >= effort.deadline:", "now() >= effort.deadline:", "never out of boxes"),
        ("best - min(self.gap, self.share * best)", "best - max(self.gap, self.share * best)", "the larger gap counts"),
        ("best - min(self.gap, self.share * best)", "best", "never stopped early: the gap is 0"),
        (
            "pool = pool[pool.bound < effort.goal(best)]",
            "pool = pool[pool.bound < best]",
            "never done when an answer closes the gap",
        ),
        ("np.argpartition(pool.bound, take - 1)", "np.argpartition(-pool.bound, take - 1)", "the worst first"),
        ("pool = pool[order[take:]]", "pool = pool[order[take + 1 :]]", "one box is lost at each step"),
        ("np.concatenate([high_of_left, self.high])", "np.concatenate([self.high, high_of_left])", "halves mixed up"),
        ("alive = (low <= high).all(axis=1)\n", "alive = (low < high).all(axis=1)\n", "boxes without width are lost"),
        ("claim.level - lines.offsets", "claim.level + lines.offsets", "the half-spaces are elsewhere"),
        ("Boxes(low, high, bound, axis, point)[bound < radius]", "Boxes(low, high, bound, axis, point)", "none is far"),
    ),
    *_in(
        "proof/halfspace.py",
        f"{PROOF} proof/test_halfspace.py",
        ("step = np.maximum(spare, 0.0)[", "step = 0.9 * np.maximum(spare, 0.0)[", "cuts are too deep"),
        ("reach = reach + _TINY", "reach = 0.9 * reach + _TINY", "the ball is too small"),
        ("rim = np.sqrt(", "rim = 0.9 * np.sqrt(", "the cap is too small"),
        (
            "np.where(normal * radius >= height, radius",
            "np.where(normal * radius < height, radius",
            "pole and rim swapped",
        ),
        ("np.where(-normal * radius >= height, -radius", "np.where(normal * radius >= height, -radius", "wrong pole"),
        ("return low - 1e-9, high + 1e-9", "return low + 1e-9, high - 1e-9", "the cap rounds inwards"),
        (
            "floor, ceiling = np.maximum(floor, cap_low.max(axis=1))",
            "floor, ceiling = np.maximum(floor, cap_low.min(axis=1))",
            "one cap of several",
        ),
        (
            "np.where(slopes < 0, low[:, None, :] + step, np.inf).min(axis=1)",
            "np.where(slopes < 0, low[:, None, :] + step, np.inf).max(axis=1)",
            "the loosest ceiling",
        ),
        ("return np.maximum(bound, size - _TINY), point", "return bound, point", "half-spaces do not raise the bound"),
        (
            "(levels / norms).argmax(axis=1)",
            "(levels / norms).argmin(axis=1)",
            "the easiest half-space alone",
            "only where Newton's steps begin, if there are several: any start gives a sound bound",
        ),
        (
            "apart |= (ascent >= 0.0).all(axis=1) & (highest < level",
            "apart |= (highest < level",
            "apart by a false proof",
        ),
        ("(highest < level - 1e-9 * (1.0 + np.abs(level)))", "(highest < level + 1e-2)", "nearly apart is apart"),
        (
            "order = np.argsort(-np.abs(slopes), axis=2)",
            "order = np.argsort(np.abs(slopes), axis=2)",
            "spent where it counts least",
        ),
        (
            "right = np.minimum((values < level[:, None]).sum(axis=1), breaks.shape[1] - 1)",
            "right = np.minimum((values <= level[:, None]).sum(axis=1), breaks.shape[1] - 1)",
            "the next breakpoint",
            "on a breakpoint both pieces meet: the same value",
        ),
        (
            "np.clip(share, 0.0, 1.0) * (t_right",
            "share * (t_right",
            "beyond the last breakpoint",
            "a larger multiplier moves no point, and any multiplier gives a sound bound",
        ),
        (
            "reach = radius - (least.sum(axis=1, keepdims=True) - least)",
            "reach = radius - least.sum(axis=1, keepdims=True)",
            "l1 balls too small",
        ),
        ("np.argmax(radius, axis=1)", "np.argmin(radius, axis=1)", "linf: the easiest half-space"),
    ),
    *_in(
        "proof/margin.py",
        f"{PROOF} proof/test_margin.py proof/test_bound.py search/test_exact.py",
        ("weights[0] = weights[0] * scale", "weights[0] = weights[0] / scale", "the scale is divided by"),
        ("biases[0] = weights[0] @ question.command + biases[0]", "biases[0] = biases[0]", "the command is left out"),
        ("if a != foil]", "if a > foil]", "rivals before the foil are left out"),
        (
            "weights[-1][foil] - weights[-1][rivals]",
            "weights[-1][rivals] - weights[-1][foil]",
            "the sign of the margin",
        ),
        (
            "biases[-1] = biases[-1][foil] - biases[-1][rivals]",
            "biases[-1] = biases[-1][foil] + biases[-1][rivals]",
            "biases are added",
        ),
        ("operations += weight.shape[1] + 8", "operations += 0", "operations are not counted"),
        ('"tanh": lambda y: 1.0 - y * y', '"tanh": lambda y: 1.0 - y', "the derivative of tanh"),
        ("network.num_rivals - 1) for network", "network.num_rivals - 2) for network", "stacks lack their last rival"),
    ),
    *_in(
        "proof/verify.py",
        f"{PROOF} proof/test_certificate.py",
        (" or certificate.norm != question.norm", "", "a certificate in another norm is taken"),
        ("question.kappa - certificate.slack", "question.kappa", "bounded again without the slack"),
        (
            "near = batch.distances(left.point) < certificate.lower",
            "near = batch.distances(left.point) < np.inf",
            "refuted by points outside the ball",
        ),
        ("share[size // 2 :] = 1.0 - 0.05 * (1.0 - share[size // 2 :])", "pass", "never near the surface"),
        (
            "share[size // 2 :] = 1.0 - 0.05",
            "share[:] = 1.0 - 0.05",
            "only near the surface",
        ),
        ("** (1.0 / dim)", "** 1.0", "the samples crowd in the middle"),
        (
            "(margins >= question.kappa).sum()",
            "(margins > question.kappa + 0.1).sum()",
            "violations by a little are not counted",
        ),
        ("self.violations == 0 and self.rebounded is not False", "self.violations == 0", "a refuted bound holds"),
        (
            "z = np.clip(direction * share * certificate.lower * (1 - 1e-9), low, high)",
            "z = direction * share * certificate.lower * (1 - 1e-9)",
            "samples outside the region",
        ),
        (
            "initial=np.inf) >= question.kappa).any()",
            "initial=np.inf) >= question.kappa).all()",
            "refuted only if all points do",
        ),
    ),
    *_in(
        "proof/widen.py",
        f"{PROOF} proof/test_widen.py",
        (
            "_Growth(network, question.kappa + slack, low, high)",
            "_Growth(network, question.kappa, low, high)",
            "proven without slack",
        ),
        ('_CAUTION * deviation(batch, row, network, _probes(box), "range") > slack', "False", "deviations are ignored"),
        ("slack = min(SLACK, spare / 2)", "slack = SLACK", "narrow answers get no range"),
        ("if not (box.high > box.low).any():", "if False:", "a range of a single command"),
        (
            "(lower_bounds(self.network, lows, highs) < self.level).any(axis=1)",
            "(lower_bounds(self.network, lows, highs) < self.level).all(axis=1)",
            "proven over one rival alone",
        ),
        (
            ".min(axis=1, initial=np.inf) >= self.level\n        for",
            ".max(axis=1, initial=np.inf) >= self.level\n        for",
            "proven over the easiest rival",
        ),
        (
            "np.minimum(range_low, command), np.maximum(range_high, command)",
            "range_low, range_high",
            "the answer may lie outside by rounding",
        ),
        (
            "int(owner[refuted].min(initial=num_proven))",
            "int(owner[refuted].max(initial=0))",
            "refuted slices are kept",
        ),
        (
            "np.where(margins[0] >= margins[1], self.high, self.low)",
            "np.where(margins[0] < margins[1], self.high, self.low)",
            "grown where margins fall",
        ),
        ("int(np.argmin(np.append(flags, False)))", "int(np.sum(flags))", "slices beyond a gap are counted"),
    ),
    *_in(
        "proof/deviation.py",
        f"{PROOF} proof/test_certificate.py",
        ("np.abs(asked - folded).max()", "(asked - folded).max()", "deviations downwards are not seen"),
        ("np.abs(asked - folded).max()", "np.abs(asked - folded).min()", "the least deviation"),
        ("initial=np.inf)\n    asked", "initial=0.0)\n    asked", "margins above 0 deviate"),
    ),
    *_in(
        "search/exact.py",
        f"{SEARCH} {PROOF} search/test_exact.py search/test_contract.py explanation/test_noise.py",
        (
            "batch.high[row], kappa - slack, batch.norm)",
            "batch.high[row], kappa, batch.norm)",
            "proven for kappa alone",
        ),
        ("slack = max(self.slack, _CAUTION * off, batch.clearance)", "slack = self.slack", "the slack is never raised"),
        (
            "slack = max(self.slack, _CAUTION * off, batch.clearance)",
            "slack = max(self.slack, _CAUTION * off)",
            "the clearance of a noisy policy is ignored",
        ),
        ("sizes + (self.worth if claim is self.bare else 0.0)", "sizes", "walks without slack cost nothing"),
        (
            "length(start[None], claim.norm) + self.worth",
            "length(start[None], claim.norm)",
            "a bare start costs nothing",
        ),
        ("self.deviation = max(self.deviation, abs(margin - float(folded)))", "pass", "deviations are not recorded"),
        ("if not scores[index] < self.size:", "if scores[index] < self.size:", "closer ones are refused"),
        ('return "optimal" if np.isfinite(upper) else "infeasible"', 'return "optimal"', "nothing is ever infeasible"),
        (
            'if not proof.closed:\n        return "gap"',
            'if False:\n        return "gap"',
            "an open proof counts as closed",
        ),
        (
            "tolerance=min(self.gap, self.share * incumbent.size)",
            "tolerance=self.gap",
            "the tolerance of small answers",
        ),
        (
            "Stop.OUT_OF_QUERIES if proof.stop is Stop.OUT_OF_BOXES and budget.cut[0] else proof.stop",
            "proof.stop",
            "out of queries is not told",
        ),
        (
            "max(0, limits.queries - sum(batch.queries(row).values()))",
            "limits.queries",
            "what the start asked is not counted",
        ),
        (
            "began + limits.seconds - spent",
            "began + limits.seconds",
            "the start's time is not counted",
        ),
        ("replace(self.start, seed=self.seed)", "self.start", "the seed does not reach the start"),
    ),
    *_in(
        "search/parts/budget.py",
        f"{SEARCH} {CALL} search/test_contract.py",
        (
            "self.closest = Closest(batch, batch.kappa)",
            "self.closest = Closest(batch, 0.0 * batch.kappa)",
            "answers at margin 0",
        ),
        ("possible = rank < self.left[whose]", "possible = rank <= self.left[whose]", "one query too many"),
        ("self.cut[whose[~possible]] = True", "pass", "out of queries is not noticed"),
        (
            "np.arange(len(asked)) - np.searchsorted(whose, whose)",
            "np.arange(len(asked))",
            "later questions get no queries",
        ),
        ("self.left[i] <= 0 else", "self.left[i] < 0 else", "a budget that is used up counts as complete"),
        ("self.overtime or now() >= self.deadline", "self.overtime", "never out of time"),
        ("if rows is None else rows  #", "if rows is None else rows[::-1]  #", "questions are mixed up"),
    ),
    *_in(
        "search/parts/closest.py",
        f"{SEARCH} {CALL} search/test_contract.py",
        ("valid = margins >= self.level[rows]", "valid = margins > self.level[rows]", "exactly kappa is not enough"),
        ("distances < self.distance[rows]", "distances > self.distance[rows]", "the farthest is kept"),
        (
            'better[np.argsort(distances[better], kind="stable")]',
            'better[np.argsort(-distances[better], kind="stable")]',
            "the farthest of one call is kept",
        ),
        (
            "self.change[rows[better]] = changes[better]",
            "self.change[rows[better]] = changes[better[::-1]]",
            "changes go to other questions",
        ),
    ),
    *_in(
        "search/parts/rays.py",
        f"{SEARCH} search/test_cf_zoo.py",
        ("int(np.argmax(margins[start", "int(np.argmin(margins[start", "the prior points away from the foil"),
        ("np.where(u > 0, high, low)", "np.where(u > 0, low, high)", "rays end behind the command"),
        ("alpha = steps.min(axis=1)", "alpha = steps.max(axis=1)", "rays leave the region"),
        ("np.abs(v) * signs", "np.abs(v) * -signs", "directions are mirrored out of the prior"),
        ("middle = (low + high) / 2", "middle = high / 2", "bisection without its lower end"),
        ("np.where(valid, low, middle)", "np.where(valid, middle, low)", "the failing end does not move"),
        (
            "alive = low * unit < shortest[rows]",
            "alive = low * unit < shortest[rows] / 2",
            "rays are dropped that could win",
        ),
        ("v = v * free", "v = v * 1.0", "locked objectives take part in directions"),
    ),
    *_in(
        "search/parts/zoo.py",
        f"{SEARCH} search/test_cf_zoo.py",
        ("max(self.max_queries - 1, 0) // 3", "max(self.max_queries, 0) // 3", "one iteration too many"),
        ("z[:, i] -= config.eta", "z[:, i] += config.eta", "ascends"),
        (
            "np.maximum(kappa[size:] - margins[size:], 0.0)",
            "np.maximum(margins[size:] - kappa[size:], 0.0)",
            "the hinge the other way",
        ),
        ("(1 - BETA2) * gradient**2", "(1 - BETA2) * gradient", "the second moment is a first one"),
        ("np.minimum(np.maximum(points, low), high)", "points", "asked outside the region"),
        ("updates[i] = updates.get(i, 0) + 1", "updates[i] = 1", "no bias correction but the first"),
    ),
    *_in(
        "search/parts/trust_region.py",
        f"{SEARCH} search/test_trust_region.py",
        ("np.where(whole, 2.0, 1.0), 0.35)", "np.where(whole, 1.0, 1.0), 0.35)", "trust never grows"),
        ("np.where(whole, 2.0, 1.0), 0.35)", "np.where(whole, 2.0, 1.0), 1.0)", "trust never shrinks"),
        ("np.where(up >= down, up, -down)", "np.where(up >= down, up, down)", "differences leave the box"),
        (
            "sizes.argmin(axis=1), least.argmax(axis=1)",
            "sizes.argmax(axis=1), least.argmax(axis=1)",
            "the farthest try",
        ),
        ("np.clip(starts, oracle.low, oracle.high)", "starts", "a start outside the box"),
        (
            "np.where(self.least >= self.oracle.level, length",
            "np.where(self.least >= 0.0 * self.oracle.level, length",
            "valid at margin 0",
        ),
        ("np.maximum(self.oracle.low[rows], z - trust)", "z - trust", "steps leave the box below"),
    ),
    *_in(
        "search/parts/scan.py",
        f"{SEARCH} search/test_boundary.py search/test_contract.py",
        ("np.eye(self.dim) * low]", "np.eye(self.dim) * high]", "only upwards along the axes"),
        (
            "uniform[:, self.dim :] ** (1.0 / self.dim)",
            "uniform[:, self.dim :]",
            "points crowd in the middle",
        ),
        ("np.clip(finite * ball, low, high), everywhere)", "finite * ball, everywhere)", "asked outside the region"),
    ),
    *_in(
        "search/boundary.py",
        f"{SEARCH} search/test_boundary.py search/test_contract.py",
        ("wanted[:, 0] = True", "wanted[:, 0] = False", "no change is never asked about"),
        ("best = score.argmin(axis=1)", "best = score.argmax(axis=1)", "walks start where nothing is"),
        (
            "lacking = np.maximum(kappa - margins, 0.0)",
            "lacking = np.maximum(margins - kappa, 0.0)",
            "what lacks margin is preferred",
        ),
        ("batch.project(rows, near.reshape(-1, dim))", "near.reshape(-1, dim)", "asked outside the region"),
        ("budget.late or not (budget.left > 0).any()", "not (budget.left > 0).any()", "never out of time"),
    ),
    *_in(
        "search/grid.py",
        f"{SEARCH} search/test_white_cw.py search/test_contract.py",
        (
            "np.linspace(a, b, self.values if b > a else 1)",
            "np.linspace(a, b, self.values, endpoint=False)",
            "the edge is left out",
        ),
        (
            "if self.first and np.isfinite(budget.size[0]):",
            "if np.isfinite(budget.size[0]):",
            "the closest is not looked for",
        ),
        ("while math.gcd(stride, total) != 1:", "while False:", "some points are asked twice, others never"),
        ("if total > MOST and not limited:", "if False:", "a grid beyond counting is begun"),
    ),
    *_in(
        "search/nearest_front.py",
        f"{CALL} search/test_contract.py",
        ("(z >= batch.low[rows]) & (z <= batch.high[rows])", "(z >= batch.low[rows])", "the upper side is not checked"),
        (
            "(z >= batch.low[rows]) & (z <= batch.high[rows])",
            "(z <= batch.high[rows])",
            "the lower side is not checked",
        ),
    ),
    *_in(
        "explanation/confirm.py",
        f"{CALL} explanation/test_rounding.py explanation/test_noise.py explanation/test_ask.py",
        ("margin >= batch.questions[row].kappa and margin > 0", "margin > 0", "answers at margin 0"),
        (
            "margin >= batch.questions[row].kappa and margin > 0",
            "margin >= batch.questions[row].kappa",
            "a draw is an answer",
        ),
        ("np.clip(command, question.low, question.high))", "command)", "answers outside the region"),
        ("np.where(still, question.command, ", "np.where(False, question.command, ", "what hardly changes changes"),
        ("OUTWARDS = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2)", "OUTWARDS = (0.0,)", "nothing is walked outwards"),
        ("float(margins.min())", "float(margins.max())", "the luckiest way to ask"),
    ),
    *_in(
        "explanation/check.py",
        f"{CALL} explanation/test_ask.py",
        ('certificate.status == "optimal" and size', "size", "an open gap counts as proven"),
        (" and size <= certificate.upper + NEGLIGIBLE", "", "walked outwards, and still proven closest"),
        (
            'certificate is not None and certificate.status == "infeasible"',
            "certificate is not None",
            "an open search counts as infeasible",
        ),
        ("for c in (closest, command))", "for c in (command, closest))", "the distance of another command"),
        ("return replace(nothing, stop=Stop.NOT_CONFIRMED)", "return nothing", "why there is no answer is not told"),
        ("lower_bound=certificate.lower", "lower_bound=0.0", "the lower bound is lost"),
    ),
    *_in(
        "explanation/ask.py",
        f"{CALL} explanation/test_ask.py explanation/test_noise.py",
        ("settled = all(", "settled = any(", "proven by one subset alone"),
        ("replace(tried[-1], **total)", "replace(tried[0], **total)", "the first subset instead of the whole"),
        (
            'np.argsort(sizes, kind="stable").tolist() if 0',
            'np.argsort(-sizes, kind="stable").tolist() if 0',
            "the largest small change first",
        ),
        ("0 < sizes[i] < min_change", "0 < sizes[i] > min_change", "large changes are undone"),
        (
            "check(batch, row, finding, nothing)",
            "check(batch, (row + 1) % batch.size, finding, nothing)",
            "another question of the batch",
        ),
        ('{**_spent(*tried), "wanted"', '{"wanted"', "queries of other subsets are not counted"),
        ("range(1, len(movable) + 1)", "range(1, len(movable))", "never all objectives together"),
        (
            "if wishes.sparse and wishes.k == 1 and any(",
            "if wishes.k == 1 and any(",
            "one is enough",
            "k is 1 only for sparse wishes here",
        ),
        ("np.where(free, question.high, question.command)", "question.high", "others are not locked above"),
        ("HARDLY * np.abs(change).max(), 0.0", "-1.0, 0.0", "what hardly changes makes another answer"),
        ("max(question.valid_actions, key", "min(question.valid_actions, key", "the least likely action is the chosen"),
        ("batch.keep_clear(clearance(batch))", "clearance(batch)", "searches are not told of the noise"),
    ),
    *_in(
        "explanation/rounding.py",
        f"{CALL} explanation/test_rounding.py",
        (
            "(rounded >= question.low) & (rounded <= question.high)",
            "(rounded >= question.low)",
            "the upper side is not checked",
        ),
        (
            "(rounded >= question.low) & (rounded <= question.high)",
            "(rounded <= question.high)",
            "the lower side is not checked",
        ),
        ("STRETCH = 1.1", "STRETCH = 2.0", "short numbers that are much farther"),
        (
            "(command - question.command) >= 0).all(axis=1)",
            "(command - question.command) <= 9).all(axis=1)",
            "a wish is turned around",
        ),
        ("DIGITS = range(1, 10)", "DIGITS = range(2, 10)", "the shortest numbers are not tried"),
        ("if near[i] else (down[i] + 1, down[i])", "if near[i] else (down[i], down[i] + 1)", "rounded down first"),
    ),
    *_in(
        "explanation/noise.py",
        f"{CALL} explanation/test_noise.py explanation/test_ask.py",
        ("CAUTION = 4.0", "CAUTION = 0.0", "searches do not keep clear"),
        ("_refuse_random(together, again)", "pass", "a random policy is taken"),
        (
            "np.argsort(np.abs(candidates - batch.kappa[rows])",
            "np.argsort(-np.abs(candidates - batch.kappa[rows])",
            "probes far from where answers lie",
        ),
        ("np.ptp(ways, axis=0)[usual]", "np.ptp(ways, axis=1)[usual[0]]", "noise across commands, not ways"),
    ),
    *_in(
        "explanation/pose.py",
        "explanation/test_restrict.py explanation/test_pose.py explanation/test_ask.py",
        ("remaining = returns - decision.collected", "remaining = returns", "front points as if nothing was collected"),
        ("np.minimum(low, command), np.maximum(high, command)", "low, high", "an impossible command is left out"),
        ("np.minimum(most, most - collected)", "most", "what was collected can be had again"),
        ("low[i] = high[i] = question.command[i]", "low[i] = question.command[i]", "kept objectives may grow"),
        ("max(low[i], lowest), min(high[i], highest)", "lowest, highest", "ranges may leave the region"),
    ),
    *_in(
        "core/question.py",
        f"{WORDS} {CALL} explanation/test_ask.py search/test_contract.py",
        ("(low > command).any() or (high < command).any()", "(low > command).any()", "a region below the command"),
        ("slice(start, start + CHUNK)", "slice(start, start + CHUNK - 1)", "the last of each chunk is lost"),
        (
            "if len(rows) <= CHUNK:",
            "if len(rows) <= CHUNK + 1:",
            "chunks of one more",
            "the size of a chunk is a matter of memory",
        ),
        ("scores = np.maximum(scores, IMPOSSIBLE)", "pass", "-inf is left in the scores"),
        ("(scores == np.inf).any()", "False", "infinite scores are taken"),
        (
            "- (scores + handicap).max(axis=1)\n\n    def repeat",
            "- scores.max(axis=1)\n\n    def repeat",
            "the foil is its own rival",
        ),
        ("if action != question.foil]", "]", "the foil is its own rival"),
        (
            "np.bincount(rows, minlength=self.size)\n        return self._query",
            "1\n        return self._query",
            "queries are counted once a call",
        ),
        ("each += added", "each += 0", "repeated queries are not counted"),
        (
            "np.stack([q.low for q in questions]) - self.commands)",
            "np.stack([q.low for q in questions]) + self.commands)",
            "regions around another command",
        ),
        ("self.commands[rows] + z * self.scale[rows]", "self.commands[rows] + z", "changes are not scaled back"),
    ),
    *_in(
        "core/command.py",
        f"{WORDS} core/test_package.py explanation/test_pose.py search/test_exact.py",
        ('np.abs(z).sum(axis=-1) if norm == "l1"', 'np.abs(z).max(axis=-1) if norm == "l1"', "l1 is linf"),
        ("np.where(width > NEGLIGIBLE_RANGE, width, 1.0)", "width", "a range of 0 divides"),
        (
            "(command < self.low - slack) | (command > self.high + slack)",
            "(command < self.low - slack)",
            "above the box is inside",
        ),
        ("np.clip(self.high, low, high)", "self.high", "impossible commands are possible"),
        (
            "length((commands - origin) / self.scale, norm)",
            "length((commands - origin) * self.scale, norm)",
            "scaled the wrong way",
        ),
    ),
    *_in(
        "core/pareto.py",
        "core/test_pareto.py",
        (
            "points[None, :, :] >= points[:, None, :]",
            "points[None, :, :] > points[:, None, :]",
            "equal in one objective is not dominated",
        ),
        ("np.tri(len(points), k=-1, dtype=bool)", "np.tri(len(points), k=0, dtype=bool)", "a point dominates itself"),
        ("(gains > 0).all(axis=1)", "(gains > 0).any(axis=1)", "points below the reference add volume"),
        (
            "- np.minimum(gains[0], gains[1]).prod()",
            "- np.maximum(gains[0], gains[1]).prod()",
            "two boxes overlap otherwise",
        ),
        ("float(box[-1]) * (", "float(box[0]) * (", "another height"),
        ("values[order[2:]] - values[order[:-2]]", "values[order[1:-1]] - values[order[:-2]]", "one neighbour only"),
    ),
    *_in(
        "core/limit.py",
        f"{WORDS} search/test_contract.py",
        ("return min(known) if known else None", "return max(known) if known else None", "the larger limit"),
        (
            "now() + self.seconds * num_questions",
            "now() + self.seconds",
            "one question's time for all",
        ),
    ),
    *_in(
        "core/atomic.py",
        STUDY,
        ("os.fsync(file.fileno())", "pass", "a crash leaves an empty file"),
        ("Path(file.name).unlink(missing_ok=True)", "pass", "a failed write leaves its temporary file"),
        ("os.replace(file.name, path)", "path.write_bytes(content)", "written in place"),
    ),
    *_in(
        "core/policy.py",
        f"{WORDS} pcn/test_policy.py explanation/test_ask.py search/test_exact.py",
        ("- scores[valid].max())", ")", "large logits overflow"),
        ("weights / weights.sum()", "weights", "probabilities that do not add up"),
        ("0.5 * (np.tanh(0.5 * x) + 1.0)", "0.5 * (np.tanh(x) + 1.0)", "a steeper sigmoid"),
    ),
    *_in(
        "core/certificate.py",
        "core/test_value_lines.py core/test_documents.py",
        ("0.0 if np.isinf(self.lower) else self.upper", "self.upper", "the gap of what is infeasible is no number"),
        ("values[name] if np.isfinite(values[name]) else None", "values[name]", "JSON with infinite numbers"),
        ("np.inf if value is None else finite(value)", "0.0 if value is None else finite(value)", "no bound is 0"),
    ),
    *_in(
        "core/proven_range.py",
        "core/test_value_lines.py core/test_documents.py",
        ("commands <= self.high", "commands >= self.low", "what is above the range is in it"),
        ("(self.low > self.high).any()", "(self.low > self.high).all()", "sides in the wrong order"),
    ),
    *_in(
        "core/decision.py",
        "core/test_documents.py",
        ('read["collected"].size != read["command"].size', "False", "collected in other objectives"),
        ('read["action"] not in read["valid_actions"]', "False", "an action that is not valid was chosen"),
        ("decision.command.size != read.command.size", "False", "an episode of decisions of another kind"),
    ),
    *_in(
        "core/answer.py",
        "core/test_value_lines.py core/test_documents.py",
        ("self.command - self.original", "self.original - self.command", "changes with the wrong sign"),
        ("any(told) != all(told)", "False", "a distance without a command"),
        ("0 <= number < count for", "0 <= number <= count for", "a number beyond the last"),
    ),
    *_in(
        "explanation/consequence.py",
        "explanation/test_consequence.py",
        ("decision.collected[: env.num_objectives] + episodes", "episodes", "what was collected before is forgotten"),
        ("ddof=1", "ddof=0", "the spread of the runs, not of what they are taken from"),
        ("spread / np.sqrt(repeats)", "spread / repeats", "the standard error divided by n"),
    ),
    *_in(
        "explanation/flip_map.py",
        "explanation/test_flip_map.py",
        ("key=lambda item: (item[1].distance, item[0])", "key=lambda item: item[0]", "the earliest moments first"),
        ("is not Outcome.PROVEN_INFEASIBLE", "is Outcome.FOUND", "what is open counts as proven"),
        ("np.inf if found.distance is None", "np.nan if found.distance is None", "not found is not asked"),
    ),
    *_in(
        "search/registry.py",
        "search/test_registry.py",
        (
            '"exact" if isinstance(policy, FoldablePolicy)',
            '"boundary" if isinstance(policy, FoldablePolicy)',
            "no proof",
        ),
        ("if name in _methods or name == AUTO:", "if name == AUTO:", "a search takes the name of another"),
        ("kind.preset(self.preset, seed)", "kind.preset(self.preset)", "the seed does not reach presets"),
    ),
    *_in(
        "pcn/replay.py",
        f"{REPLAY} pcn/test_replay.py",
        (
            "np.argsort(-crowding_distance(points[best])",
            "np.argsort(crowding_distance(points[best])",
            "the most crowded are kept",
        ),
        (
            "crowding_distance(points)[rest] < CROWDED",
            "crowding_distance(points)[rest] > CROWDED",
            "the most crowded are preferred",
        ),
        ("2.0 * distance, distance)", "distance, distance)", "crowds do not count"),
        ("np.lexsort((-np.arange(len(self.labels))", "np.lexsort((np.arange(len(self.labels))", "the oldest of equals"),
        ("self.lengths, sureness))", "-self.lengths, sureness))", "the longest of equals"),
        ("self.lengths, sureness))", "self.lengths, -sureness))", "the least sure of equals"),
        (
            "np.maximum(points[best][None] - points[rest][:, None], 0.0)",
            "(points[best][None] - points[rest][:, None])",
            "the distance in all objectives",
        ),
        (
            "np.maximum(horizon - np.arange(length, dtype=np.float64), 1.0)",
            "horizon - np.arange(length, dtype=np.float64)",
            "a horizon below 1",
        ),
        ("EQUAL = 3.0", "EQUAL = 1.0", "one standard error"),
        ("EQUAL = 3.0", "EQUAL = 6.0", "six standard errors"),
        ("width[width == 0] = 1.0", "pass", "an objective without width divides by 0"),
        (
            "rewards[row, :length], axis=0) - episodes.rewards[row, :length]",
            "rewards[row, :length], axis=0)",
            "a command knows its own reward",
        ),
        ("last = rewarded.shape[1] - ", "last = rewarded.shape[1] - 1 - ", "the last reward is trimmed"),
        (
            "not_worse & ~not_worse.T).any(axis=1)",
            "not_worse & ~not_worse.T).any(axis=0)",
            "the dominating are dominated",
        ),
        ("[: capacity - len(best)]", "[: capacity]", "more than the capacity"),
        ("first.sort()", "pass", "samples out of order: the first is not the start's command"),
        ("time += int(again[-1])", "time += int(again[0])", "loops stay"),
    ),
    *_in(
        "pcn/archive.py",
        f"{REPLAY} pcn/test_replay.py",
        ("/ np.sqrt(repeats)", "/ repeats", "the standard error divided by n"),
        ("returns.std(axis=1)", "returns.std(axis=0)", "the deviation between plans"),
        (" & (known > returns[rows]).any(axis=2)", "", "an equal return counts as beaten"),
        ("rows[~beaten.any(axis=0)]", "rows[~beaten.all(axis=0)]", "beaten only by all"),
        ("if plan not in replay.tried:", "if True:", "plans are rolled out again and again"),
        ("if len(plans) == config.candidates:", "if len(plans) > config.candidates:", "one candidate too many"),
        ("[:RELABELLED]", "[:1]", "one rollout becomes samples"),
        ("np.cumprod(unused >= 0).astype(bool)", "unused >= 0", "free actions are skipped"),
        ("if episodes.terminated[row] else codes[:0]", "if True else codes[:0]", "a plan beyond the step limit"),
        ('rows[np.argsort(turns, kind="stable")]', "rows", "a rare return is overlooked"),
        ("episodes.terminated | (lengths < episodes.lengths)", "episodes.terminated", "trimmed episodes are dropped"),
        ("usable = lengths > 0", "usable = lengths >= 0", "episodes without any reward"),
        ("np.round(returns, DECIMALS) + 0.0", "returns", "equal returns differ by rounding"),
    ),
    *_in(
        "study/runner.py",
        f"{STUDY} study/test_study_values.py",
        ("progress.found + sum(row.found for row in rows)", "progress.found + len(rows)", "everything counts as found"),
        ("(self.total - self.done) / self.rate", "self.total / self.rate", "the time left of all questions"),
        ("self.asked / max(self.seconds, 1e-9)", "self.done / max(self.seconds, 1e-9)", "earlier runs count as speed"),
        ("divmod(round(self.left), 60)", "divmod(round(self.left), 100)", "minutes of a hundred seconds"),
        ('0.0 if key == "seconds" else', 'item if key == "seconds" else', "rows differ in their timings"),
        ("if (label, case) not in finished]", "]", "finished cases are asked again"),
        ("total - sum(map(len, chunks))", "total - len(chunks)", "chunks are counted as questions"),
        ("left[first : first + size]", "left[first : first + size - 1]", "the last case of each chunk is lost"),
    ),
    *_in(
        "study/statistics.py",
        f"{STUDY} study/test_study_values.py",
        ("Proportion(len(distances), len(taken))", "Proportion(len(taken), len(taken))", "everything is a success"),
        ("float(np.median(seconds))", "float(np.mean(seconds))", "the mean as median"),
        ('method="wilson"', 'method="exact"', "another interval than the paper's"),
        ("float(seconds.std())", "float(seconds.var())", "the variance"),
    ),
    *_in(
        "study/case.py",
        f"{STUDY} study/test_study_values.py",
        (
            "np.linspace(0, size - 1, min(count, size))",
            "np.linspace(0, size, min(count, size), endpoint=False)",
            "the last is not included",
        ),
        ("if action != decision.action]", "]", "the chosen action is a foil"),
        ("episode.decisions[: rule.times]", "episode.decisions[-(rule.times or 99) :]", "the last moments"),
    ),
    *_in(
        "study/store.py",
        f"{STUDY} study/test_study_store.py",
        ("SET asked = asked + ?", "SET asked = ?", "a run forgets what it asked before"),
        ('"BEGIN IMMEDIATE"', '"BEGIN DEFERRED"', "two writers begin", "the file lock allows one writer only"),
        ('self._connection.execute("ROLLBACK")', 'self._connection.execute("COMMIT")', "half a chunk is written"),
        (
            'SELECT count(*) FROM answer").fetchone()[0]:',
            'SELECT count(*) FROM answer").fetchone()[0] > 1e9:',
            "answers of two studies are mixed",
        ),
        ("Path(path).resolve()", "Path(path)", "two paths, two locks"),
        (
            'ORDER BY agent, search, front, time, foil"',
            'ORDER BY agent, search, front, foil, time"',
            "another order of rows",
        ),
    ),
    *_in(
        "study/table.py",
        f"{STUDY} study/test_study_values.py",
        ("if abs(number) < 10 else", "if number < 10 else", "negative numbers with too many decimals"),
        ('f"{int(cell):,}"', 'f"{int(cell)}"', "no thousands"),
        ("[None] * (4 * is_wide)", "[None] * (3 * is_wide)", "columns shift"),
    ),
    *_in(
        "study/study.py",
        f"{STUDY} study/test_study_values.py study/test_study_store.py",
        (
            "if old.get(key) != new.get(key)]",
            "if old.get(key) != new.get(key, old.get(key))]",
            "what is missing is the same",
        ),
        ('("low", agent.space.low), ', "", "another box is the same agent"),
        (
            "sorted(self.only)",
            "list(self.only)",
            "a configuration in any order",
        ),
    ),
)
