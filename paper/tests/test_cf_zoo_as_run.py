"""CF-ZOO as run: against a plain sequential form of the published description, and against the published queries."""

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from policies import LinearPolicy, random_pcn, random_question

from paretofoil.agents import load_agent
from paretofoil.core.command import CommandSpace
from paretofoil.core.errors import InvalidInput
from paretofoil.core.options import Box, Limits, Stop
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.search.budget import Budget
from paretofoil.study.case import enumerate_cases, evenly, make_case_question
from paretofoil_paper.searches import CFZooAsRun
from paretofoil_paper.searches.cf_zoo_as_run import cut_distances
from paretofoil_paper.searches.cone import ask_cones

SMALL = CFZooAsRun(max_queries=301, directions=400)


class Sequential:
    """One question, one query at a time; it shares nothing with the fast form."""

    def __init__(self, question: Question, config: CFZooAsRun) -> None:
        self.batch, self.question, self.config = QuestionBatch([question]), question, config
        self.low, self.high = self.batch.low[0], self.batch.high[0]
        self.unit, self.scale = np.ones_like(self.low), self.batch.scale[0]
        self.best: np.ndarray | None = None
        self.left = 0

    def size(self, z: np.ndarray) -> float:
        return float(np.sqrt(((z / self.unit) ** 2).sum()))

    def valid(self, z: np.ndarray, phase: str) -> bool:
        """Ask; a valid change that is closer becomes the best."""
        valid = self.margin(z, phase) >= self.question.kappa
        if valid and (self.best is None or self.size(z) < self.size(self.best)):
            self.best = z
        return valid

    def margin(self, z: np.ndarray, phase: str) -> float:
        self.left -= 1
        return float(self.batch.margins(np.array([0]), z[None], phase)[0])

    def search(self) -> np.ndarray | None:
        self.left = self.config.max_queries - self.config.bisections - 1
        self.search_rays()
        self.refine()
        self.pull_back()
        return self.best

    def search_rays(self) -> None:
        command, question = self.question.command, self.question
        self.valid(np.zeros_like(command), "command")
        asked: list[tuple[float, np.ndarray]] = []
        seen: set[tuple[float, ...]] = set()
        for point in question.front:
            clipped = np.minimum(np.maximum(point, question.low), question.high)
            if tuple(np.round(clipped, 6)) in seen or self.left <= 0:
                continue
            seen.add(tuple(np.round(clipped, 6)))
            self.left -= 1
            margin = float(self.batch.margins_at(np.array([0]), clipped[None], "front")[0])
            asked.append((margin, clipped - command))
        asked.sort(key=lambda pair: -pair[0])
        self.cut([change for _, change in asked])
        for margin, change in asked:
            z = change / self.scale
            inside = (z >= self.low).all() and (z <= self.high).all()
            if margin >= question.kappa and inside and (self.best is None or self.size(z) < self.size(self.best)):
                self.best = z
        for u in self.directions([change for _, change in asked]):
            if self.left <= 0:
                return
            self.shoot(u)

    def cut(self, changes: list[np.ndarray]) -> None:
        anchors = [change for change in changes if np.abs(change).max() > 1e-6]
        self.signs = np.zeros_like(self.low)
        if anchors:
            self.signs = np.where(np.abs(anchors[0]) > 1e-6, np.sign(anchors[0]), 0.0)
        self.low = np.where(self.signs > 0, 0.0, self.low)
        self.high = np.where(self.signs < 0, 0.0, self.high)
        width = (self.high - self.low) * self.scale
        self.unit = np.where(width < 1e-6, 1.0, width) / self.scale

    def folded(self, v: np.ndarray) -> np.ndarray:
        v = v.copy()
        for i, sign in enumerate(self.signs):
            if sign:
                v[i] = abs(v[i]) * sign
            room = (self.high[i] if v[i] > 0 else -self.low[i]) * self.scale[i]
            if room <= 1e-6:
                v[i] = 0.0
        return v

    def directions(self, changes: list[np.ndarray]) -> Iterator[np.ndarray]:
        dim, seen = len(self.low), set()
        axes = [sign * np.eye(dim)[i] for i in range(dim) for sign in (1.0, -1.0) if self.signs[i] != -sign]
        random = np.random.default_rng(self.config.seed).standard_normal((self.config.directions, dim))
        for v in [*axes, *(change / self.scale / self.unit for change in changes), *random]:
            v = self.folded(v)
            if not v.any():
                continue
            u = v / np.linalg.norm(v[None], axis=1)[0]
            key = tuple(np.round(u, 6) + 0.0)
            if key not in seen:
                seen.add(key)
                yield u

    def at(self, y: np.ndarray) -> np.ndarray:
        return np.minimum(np.maximum(y * self.unit, self.low), self.high)

    def shoot(self, u: np.ndarray) -> None:
        edge = np.where(u > 0, self.high, self.low) / self.unit
        end = min(float(edge[i] / u[i]) for i in range(len(u)) if u[i] != 0)
        if self.valid(self.at(end * u), "endpoints"):
            self.halve(u, end, self.config.bisections, "bisection")

    def halve(self, u: np.ndarray, high: float, steps: int, phase: str) -> None:
        low = 0.0
        for _ in range(steps):
            if self.left <= 0:
                return
            middle = (low + high) / 2
            if self.valid(self.at(middle * u), phase):
                high = middle
            else:
                low = middle

    def loss(self, y: np.ndarray) -> float:
        z = self.at(y)
        margin = self.margin(z, "zoo")
        if margin >= self.question.kappa and (self.best is None or self.size(z) < self.size(self.best)):
            self.best = z
        size = self.size(z)
        return size * size + self.config.c * max(self.question.kappa - margin, 0.0)

    def refine(self) -> None:
        if self.best is None:
            self.low, self.high, self.unit = self.batch.low[0], self.batch.high[0], np.ones_like(self.low)
        config, dim = self.config, len(self.low)
        y = (np.zeros(dim) if self.best is None else self.best) / self.unit
        m, v, t = np.zeros(dim), np.zeros(dim), [0] * dim
        self.loss(y)
        generator = np.random.default_rng(config.seed)
        for _ in range((config.max_queries - 1) // 3):
            i = int(generator.integers(dim))
            step = config.h * np.eye(dim)[i]
            gradient = (self.loss(y + step) - self.loss(y - step)) / (2 * config.h)
            t[i] += 1
            m[i] = 0.9 * m[i] + (1 - 0.9) * gradient
            v[i] = 0.999 * v[i] + (1 - 0.999) * gradient**2
            y[i] -= config.eta * (m[i] / (1 - 0.9 ** t[i])) / (math.sqrt(v[i] / (1 - 0.999 ** t[i])) + 1e-8)
            y = np.minimum(np.maximum(y, self.low / self.unit), self.high / self.unit)
            self.loss(y)

    def pull_back(self) -> None:
        if self.best is None:
            return
        winner, self.left = self.best, self.config.bisections
        self.valid(winner, "final")
        low, high = 0.0, 1.0
        for _ in range(self.config.bisections - 1):
            middle = (low + high) / 2
            if self.valid(middle * winner, "final"):
                high = middle
            else:
                low = middle


def on_the_edge(question: Question) -> Question:
    """The same question with a command on the edge of the box, where some directions have no room."""
    command = question.command.copy()
    command[0] = question.space.low[0]
    return replace(question, command=command, low=None, high=None)


@pytest.mark.parametrize("max_queries", [41, pytest.param(301, marks=pytest.mark.long)])
@pytest.mark.parametrize("objectives", [1, 2, 3, 4, 6])
def test_blocks_of_rays_give_and_spend_what_one_ray_after_the_other_does(objectives: int, max_queries: int) -> None:
    policy = random_pcn(objectives, objectives=objectives)
    questions = [random_question(policy, seed) for seed in range(20)]
    questions += [on_the_edge(question) for question in questions]
    check_against_the_sequential_form(questions, replace(SMALL, max_queries=max_queries))


def test_without_a_seed_zoo_measures_in_units_of_the_whole_box() -> None:
    """The anchor points away from where the foil wins, and leaves little of x, so that x would count twenty-fold."""
    question = linear_question([[0.0, 0.4]], command=(0.05, 0.5))
    check_against_the_sequential_form([question], replace(SMALL, max_queries=1_501))
    [finding] = replace(SMALL, max_queries=1_501).run(QuestionBatch([question]))
    assert finding.scaled_change is not None
    assert finding.scaled_change[0] > 1.5 * finding.scaled_change[1]  # 2 : 1 is the shortest way in the whole box


def test_blocks_suffice_even_if_every_ray_succeeds() -> None:
    """Each ray then costs 17, the most that one can."""
    easy = LinearPolicy(np.array([np.zeros(2), [2.0, 1.0]]), np.array([0.0, -1.51]))
    question = Question(easy, np.zeros(1), [0.5, 0.5], 1, (0, 1), CommandSpace([0, 0], [1, 1]), [[0.9, 0.9]])
    check_against_the_sequential_form([question])


def check_against_the_sequential_form(questions: list[Question], search: CFZooAsRun = SMALL) -> None:
    batch = QuestionBatch(questions)
    findings = search.run(batch)
    assert any(finding.scaled_change is not None for finding in findings)
    for row, question in enumerate(questions):
        slow = Sequential(question, search)
        expected = slow.search()
        found = findings[row].scaled_change
        assert batch.queries(row) == slow.batch.queries(0)
        assert (found is None) == (expected is None)
        assert found is None or np.array_equal(found, expected)


def questions_of(name: str, box: Box = "reachable") -> list[Question]:
    """Every case of a shipped agent's stress test."""
    agent = load_agent(name)
    return [make_case_question(agent, case, decision, box=box) for case, decision in enumerate_cases(agent)]


SLOW = [pytest.param(name, marks=pytest.mark.long) for name in ("reward-line", "resource-gathering")]


@pytest.mark.parametrize("name", ["branch-path", "breakable-bottles", *SLOW])
def test_every_case_costs_exactly_the_published_queries(name: str) -> None:
    """2,984 + 3,001, and 16 after success; fewer only if all distinct directions were tried."""
    questions = questions_of(name)
    assert check_spent(questions, CFZooAsRun.preset("stress"), 2_984, 3_001) > len(questions) / 2


@pytest.mark.parametrize(
    "name",
    [
        pytest.param("deep-sea-treasure", marks=pytest.mark.long),
        "breakable-bottles-realised",
        "resource-gathering-realised",
    ],
)
def test_in_the_papers_box_no_case_runs_out_of_directions(name: str) -> None:
    """Of all eight environments the kept rows say so: tests/results/test_published_queries.py."""
    questions = questions_of(name, box="paper")
    assert check_spent(questions, CFZooAsRun.preset("stress"), 2_984, 3_001) == len(questions)


@pytest.mark.long
@pytest.mark.parametrize(("preset", "rays", "zoo"), [("example", 8_983, 8_998), ("comparison", 20_983, 20_998)])
def test_the_larger_published_runs_cost_what_was_published_too(preset: str, rays: int, zoo: int) -> None:
    questions = questions_of("branch-path")[::4]
    assert check_spent(questions, CFZooAsRun.preset(preset), rays, zoo) > len(questions) / 2


def check_spent(questions: list[Question], search: CFZooAsRun, rays: int, zoo: int) -> int:
    """The number of questions whose rays cost that much; the others must have tried every distinct direction."""
    batch = QuestionBatch(questions)
    whole = 0
    for row, finding in enumerate(search.run(batch)):
        spent = batch.queries(row)
        assert finding.stop is Stop.COMPLETE
        assert spent["zoo"] == zoo
        assert spent["final"] == (16 if finding.scaled_change is not None else 0)
        by_rays = spent["command"] + spent["front"] + spent["endpoints"] + spent["bisection"]
        if by_rays < rays:
            assert spent["endpoints"] == num_directions(questions[row], search)
        else:
            assert by_rays == rays
            whole += 1
    return whole


def num_directions(question: Question, search: CFZooAsRun) -> int:
    """How many distinct directions there are to try."""
    slow = Sequential(question, replace(search, max_queries=0))
    front = [np.clip(point, question.low, question.high) for point in question.front]
    margins = slow.batch.margins_at(np.zeros(len(front), dtype=int), np.array(front), "front")
    changes = [front[i] - question.command for i in np.argsort(-margins, kind="stable")]
    slow.cut(changes)
    return sum(1 for _ in slow.directions(changes))


@pytest.mark.long
def test_a_question_with_few_directions_costs_less_than_was_published() -> None:
    """One objective that can move one way: a single ray."""
    policy = LinearPolicy(np.array([[0.0, 0.0], [1.0, 0.0]]), np.array([0.0, -0.3]))
    space = CommandSpace([0, 0.5], [1, 0.5])
    question = Question(policy, np.zeros(1), [0.1, 0.5], 1, (0, 1), space, [[0.9, 0.5]])
    batch = QuestionBatch([question])
    CFZooAsRun().run(batch)
    assert batch.queries(0) == {"command": 1, "front": 1, "endpoints": 1, "bisection": 16, "zoo": 3_001, "final": 16}


def linear_question(front: list[list[float]], command: tuple[float, float] = (0.5, 0.5)) -> Question:
    """The foil wins where 2 x + y exceeds its value at the command by 0.4 + kappa."""
    slope = np.array([2.0, 1.0])
    policy = LinearPolicy(np.array([np.zeros(2), slope]), np.array([0.0, -0.4 - float(slope @ command)]))
    return Question(policy, np.zeros(1), command, 1, (0, 1), CommandSpace([0, 0], [1, 1]), front)


def test_distances_are_measured_in_what_the_cone_leaves_of_the_box() -> None:
    """The anchor says more x and less y: from (0.5, 0.5) half of both ranges is left, and half is the unit."""
    first = linear_question([[0.9, 0.4]])
    questions = [first, replace(first, front=[[0.9, 0.5]]), replace(first, front=[[0.5, 0.5]])]
    commands, by_rays = np.array([[0.75, 0.5]] * 3), np.full(3, True)
    assert cut_distances(QuestionBatch(questions), commands, by_rays) == pytest.approx([0.5, 0.5, 0.25])


def test_what_zoo_found_without_a_seed_is_measured_in_the_whole_box() -> None:
    """A front command in the cut is a seed if the foil wins there: at (0.9, 0.5) it does, at (0.6, 0.5) not."""
    first = linear_question([[0.9, 0.5]])
    questions = [first, replace(first, front=[[0.6, 0.5]])]
    commands = np.array([[0.75, 0.5]] * 2)
    assert cut_distances(QuestionBatch(questions), commands, np.full(2, False)) == pytest.approx([0.5, 0.25])
    assert cut_distances(QuestionBatch(questions), commands, np.full(2, True)) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize(
    ("front", "signs"),
    [
        ([[0.2, 0.2], [0.1, 0.9]], [-1, 1]),  # 2 x + y is 0.6 and 1.1: the second
        ([[0.2, 0.2], [-3.0, 0.7]], [-1, 1]),  # clipped to (0, 0.7), which wins with 0.7; itself it would not
        ([[0.5, 0.5], [0.2, 0.2]], [-1, -1]),  # the command itself would win, and say nothing
        ([[0.5 + 1e-7, 0.9], [0.2, 0.2]], [0, 1]),  # a tiny difference is none
    ],
)
def test_the_anchor_is_the_clipped_front_command_of_the_largest_margin_but_for_the_command(
    front: list[list[float]], signs: list[int]
) -> None:
    [cone] = ask_cones(Budget(QuestionBatch([linear_question(front)])))
    assert cone.signs.tolist() == signs


@pytest.mark.long
def test_the_answer_stays_inside_the_cone_if_a_ray_succeeded() -> None:
    """The anchor asks for more x and less y; a valid front command with more y is closer than all of the cone."""
    anchor, closer = [1.0, 0.4], [0.685, 0.595]
    [finding] = CFZooAsRun().run(QuestionBatch([linear_question([anchor, closer])]))
    assert finding.scaled_change is not None
    assert finding.scaled_change[0] > 0
    assert finding.scaled_change[1] <= 0


def test_without_a_seed_all_of_the_box_is_searched() -> None:
    """The anchor points away from where the foil wins, so that no ray succeeds; ZOO finds it all the same."""
    batch = QuestionBatch([linear_question([[0.4, 0.4]])])
    [finding] = CFZooAsRun().run(batch)
    assert batch.queries(0)["bisection"] == 0
    assert finding.scaled_change is not None
    assert (finding.scaled_change > 0).all()


def test_the_final_bisection_brings_some_answers_closer_and_none_farther_away() -> None:
    policy = random_pcn(3, objectives=3)
    questions = [random_question(policy, seed) for seed in range(12)]
    plain, pulled = (replace(SMALL, final_bisection=final).run(QuestionBatch(questions)) for final in (False, True))
    found = [
        (a.scaled_change, b.scaled_change) for a, b in zip(plain, pulled, strict=True) if a.scaled_change is not None
    ]
    shares = [np.linalg.norm(after) / np.linalg.norm(before) for before, after in found]
    assert max(shares) <= 1
    assert min(shares) < 1


@pytest.mark.parametrize("choice", ["cone", "axis_rays", "front_rays", "bisect_at_once", "zoo", "final_bisection"])
def test_leaving_a_choice_out_keeps_to_the_queries_and_changes_some_answer(choice: str) -> None:
    policy = random_pcn(3, objectives=3)
    questions = [random_question(policy, seed) for seed in range(12)]
    limits, batch = Limits(queries=400), QuestionBatch(questions)
    without = replace(SMALL, **{choice: False}).run(batch, limits)
    assert max(sum(batch.queries(row).values()) for row in range(batch.num_questions)) <= 400
    with_it = SMALL.run(QuestionBatch(questions), limits)
    changes = [(a.scaled_change, b.scaled_change) for a, b in zip(without, with_it, strict=True)]
    assert any((a is None) != (b is None) or (a is not None and not np.array_equal(a, b)) for a, b in changes)


def test_presets_are_the_published_runs() -> None:
    assert [CFZooAsRun.preset(name).max_queries for name in ("stress", "example", "comparison", "thorough")] == [
        3_001,
        9_000,
        21_000,
        100_000,
    ]
    assert CFZooAsRun() == CFZooAsRun.preset("stress")
    with pytest.raises(InvalidInput, match="expected a preset among stress, example, comparison, thorough, got 'huge'"):
        CFZooAsRun.preset("huge")
    with pytest.raises(InvalidInput, match="bisections of at least 0"):
        CFZooAsRun(bisections=-1)


@pytest.mark.long
@pytest.mark.parametrize("name", ["branch-path", "deep-sea-treasure", "reward-line", "minecart"])
def test_the_commands_on_200_questions_of_the_stress_test_are_those_of_the_sequential_form(name: str) -> None:
    questions = questions_of(name, box="paper")
    chosen = [questions[i] for i in evenly(len(questions), 50)]
    check_against_the_sequential_form(chosen, replace(SMALL, max_queries=101))
