"""Ask optimisers, attacks and solvers of other libraries the same questions as our searches, and write their tables.

    pip install -e '.[peers]'
    python benchmarks/peers.py [--questions 8] [--agents NAME ...] [--peers NAME ...] [--out docs/peers.md]

Every peer has its recommended settings and sees scaled changes z of the command. It looks for the shortest change, in
the search region, under which the foil wins by kappa. Optimisers minimise the length of the change, with a penalty on
changes under which the foil does not win. Attacks see logits; kappa is subtracted from that of the foil.
All methods answer one question at a time on one thread; times are CPU seconds. The policy checks every change that a
peer returns.
"""

import argparse
import signal
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn
from wide_networks import STATE, Plain, imitate
from wide_networks import ask as ask_network

from paretofoil.agents import load_agent
from paretofoil.core.question import Question, QuestionBatch
from paretofoil.core.search import Search
from paretofoil.core.threads import one_thread
from paretofoil.pcn.policy import PCNPolicy
from paretofoil.search import Boundary, CFZoo, Exact, NearestFront
from paretofoil.study import enumerate_cases
from paretofoil.study.case import evenly, make_case_question

AGENTS = ("deep-sea-treasure", "minecart")
NETWORKS = {"ReLU networks, 3 objectives": 3}
QUERIES = 9_001
"""Budget of the optimisers that need one: that of Boundary and CF-ZOO."""
MISSED = 100.0
"""Cost of a change under which the foil does not win, before its margin is subtracted."""
SLOW = 3
"""Questions of each kind for attacks that take many seconds per question."""
LIMIT = 300.0
"""Seconds per question; a method that needs more has found nothing."""
TOLERANCE = 1e-5
"""Part of kappa that a returned change may lack, because the rounding of a policy depends on the batch."""
START, END = "<!-- peers: begin -->", "<!-- peers: end -->"


class Task:
    """One question as others see it: functions of scaled changes z within a box, around 0."""

    def __init__(self, question: Question, logits: Callable[[torch.Tensor], torch.Tensor]) -> None:
        self.question, self._logits = question, logits
        self.batch = QuestionBatch([question])
        self.low, self.high = self.batch.low[0], self.batch.high[0]
        self.bounds = float(self.low.min()), float(self.high.max())

    def margins(self, z: np.ndarray) -> np.ndarray:
        """Return the margins minus kappa (N,) of changes (N, d)."""
        return self.batch.margins(np.zeros(len(z), dtype=int), z, "peer") - self.question.kappa

    def costs(self, z: np.ndarray) -> np.ndarray:
        """Return the costs (N,) of changes (N, d): their length if the foil wins."""
        margins = self.margins(z)
        return np.where(margins >= 0, self.batch.distances(z), MISSED - margins)

    def cost(self, z: np.ndarray) -> float:
        return float(self.costs(np.asarray(z)[None])[0])

    def clip(self, z: np.ndarray) -> np.ndarray:
        clipped: np.ndarray = np.clip(z, self.low, self.high)
        return clipped

    def model(self) -> nn.Module:
        """Return a torch module from changes (N, d) to logits (N, valid actions) less kappa for the foil, counted."""
        return _Model(self)

    @property
    def label(self) -> int:
        """The position of the foil among the valid actions."""
        return self.question.valid_actions.index(self.question.foil)

    def start(self, count: int = 1_000) -> np.ndarray | None:
        """Return a random change under which the foil wins, as decision-based attacks need one."""
        drawn = np.random.default_rng(0).uniform(self.low, self.high, (count, len(self.low)))
        winning = np.flatnonzero(self.margins(drawn) > 1e-4)
        return drawn[winning[0]] if len(winning) else None


class _Model(nn.Module):
    def __init__(self, task: Task) -> None:
        super().__init__()
        question, self._task = task.question, task
        values = (task.low, task.high, question.command, question.space.scale)
        self._low, self._high, self._command, self._scale = (torch.tensor(v, dtype=torch.float32) for v in values)
        self._handicap = torch.zeros(len(question.valid_actions))
        self._handicap[task.label] = question.kappa

    def forward(self, z: torch.Tensor) -> torch.Tensor:
        self._task.batch.spend(np.zeros(1, dtype=int), "peer", len(z))
        commands = self._command + torch.clamp(z.float(), self._low, self._high) * self._scale
        return self._task._logits(commands)[:, list(self._task.question.valid_actions)] - self._handicap


Change = np.ndarray | None


def differential_evolution(task: Task) -> Change:
    from scipy.optimize import differential_evolution

    box = list(zip(task.low, task.high, strict=True))
    settings = {"vectorized": True, "updating": "deferred", "rng": 0, "polish": False}
    found = differential_evolution(lambda z: task.costs(z.T), box, **settings)
    return np.asarray(found.x)


def cma_es(task: Task) -> Change:
    import cma

    widths = np.maximum(task.high - task.low, 1e-9)
    options = {"bounds": [task.low, task.high], "maxfevals": QUERIES, "seed": 1, "verbose": -9, "CMA_stds": widths}
    evolution = cma.CMAEvolutionStrategy(np.zeros(len(task.low)), 0.3, options)
    while not evolution.stop():
        drawn = evolution.ask()
        evolution.tell(drawn, task.costs(np.array(drawn)).tolist())
    return np.asarray(evolution.result.xbest)


def nevergrad(task: Task) -> Change:
    import nevergrad as ng

    space = ng.p.Array(init=np.zeros(len(task.low)), lower=task.low, upper=np.maximum(task.high, task.low + 1e-9))
    space.random_state.seed(0)
    found = ng.optimizers.TwoPointsDE(parametrization=space, budget=1_000).minimize(task.cost)
    return np.asarray(found.value)


def foolbox_cw(task: Task) -> Change:
    import foolbox

    return _foolbox(task, foolbox.attacks.L2CarliniWagnerAttack(steps=1_000))


def _foolbox(task: Task, attack: Any) -> Change:
    import foolbox

    model = foolbox.PyTorchModel(task.model().eval(), bounds=task.bounds, device="cpu")
    criterion = foolbox.criteria.TargetedMisclassification(torch.tensor([task.label]))
    origin = torch.zeros(1, len(task.low))
    found = attack(model, origin, criterion, epsilons=None)[1]
    return np.asarray(found[0].detach().numpy(), dtype=np.float64)


def art_cw(task: Task) -> Change:
    from art.attacks.evasion import CarliniL2Method

    return _art(task, lambda model: CarliniL2Method(model, targeted=True, verbose=False))


def art_hop_skip_jump(task: Task) -> Change:
    from art.attacks.evasion import HopSkipJump

    start = task.start()
    if start is None:
        return None
    np.random.seed(0)  # noqa: NPY002 - the attack draws from it
    settings = {"x_adv_init": np.asarray(start[None], dtype=np.float32)}
    return _art(task, lambda model: HopSkipJump(model, targeted=True, verbose=False), **settings)


def _art(task: Task, attack: Callable, **settings: object) -> Change:
    from art.estimators.classification import PyTorchClassifier

    classes, shape = len(task.question.valid_actions), (len(task.low),)
    model = PyTorchClassifier(
        task.model(), nn.CrossEntropyLoss(), shape, classes, clip_values=task.bounds, device_type="cpu"
    )
    target = np.eye(classes, dtype=np.float32)[[task.label]]
    found = attack(model).generate(np.zeros((1, *shape), dtype=np.float32), y=target, **settings)
    return np.asarray(found[0], dtype=np.float64)


def dice_genetic(task: Task) -> Change:
    return _dice(task, "genetic")


def dice_random(task: Task) -> Change:
    return _dice(task, "random")


def _dice(task: Task, method: str) -> Change:
    import dice_ml
    import pandas as pd
    from raiutils.exceptions import UserConfigValidationException

    names = [f"z{i}" for i in range(len(task.low))]

    class Wins:
        """A classifier of changes: 1 if the foil wins."""

        classes_ = np.array([0, 1])

        def predict_proba(self, rows: "pd.DataFrame") -> np.ndarray:
            wins = 1 / (1 + np.exp(-task.margins(rows[names].to_numpy(dtype=np.float64))))
            return np.stack([1 - wins, wins], axis=1)

        def predict(self, rows: "pd.DataFrame") -> np.ndarray:
            predicted: np.ndarray = self.predict_proba(rows)[:, 1] >= 0.5
            return predicted.astype(int)

    drawn = np.random.default_rng(0).uniform(task.low, task.high, (1_000, len(names)))
    known = pd.DataFrame(drawn, columns=names)
    known["wins"] = Wins().predict(known)
    data = dice_ml.Data(dataframe=known, continuous_features=names, outcome_name="wins")
    explainer = dice_ml.Dice(data, dice_ml.Model(model=Wins(), backend="sklearn"), method=method)
    origin = pd.DataFrame(np.zeros((1, len(names))), columns=names)
    ranges = {n: [float(a), float(b)] for n, a, b in zip(names, task.low, task.high, strict=True)}
    settings = {"random_seed": 0} if method == "random" else {}
    try:
        found = explainer.generate_counterfactuals(
            origin, total_CFs=1, desired_class=1, permitted_range=ranges, verbose=False, **settings
        )
    except UserConfigValidationException:  # it found none
        return None
    best = found.cf_examples_list[0].final_cfs_df
    return None if best is None or not len(best) else best[names].to_numpy(dtype=np.float64)[0]


def highs(task: Task, module: Plain, most: float) -> Change:
    """Solve the question in the norm linf as a mixed-integer program, with changes of at most `most`."""
    import highspy

    question, model = task.question, highspy.Highs()
    model.silent()
    model.setOptionValue("threads", 1)
    model.setOptionValue("time_limit", 60.0)
    length = model.addVariable(lb=0.0, ub=most)
    low, high = np.maximum(task.low, -most), np.minimum(task.high, most)
    z = [model.addVariable(lb=float(a), ub=float(b)) for a, b in zip(low, high, strict=True)]
    for change in z:
        model.addConstr(change <= length)
        model.addConstr(-1 * change <= length)
    layers = [layer for layer in module.body if isinstance(layer, nn.Linear)]
    weights = [(w.weight.detach().numpy().astype(float), w.bias.detach().numpy().astype(float)) for w in layers]
    weight, bias = weights[0]
    bias = bias + weight[:, :STATE] @ question.state + weight[:, STATE:] @ question.command
    units, weight = z, weight[:, STATE:] * question.space.scale
    for after in weights[1:]:
        least, largest = _interval(weight, bias, low, high)
        units = [_relu(model, units, *unit) for unit in zip(weight, bias, least, largest, strict=True)]
        low, high = np.maximum(least, 0), np.maximum(largest, 0)
        weight, bias = after
    for rival in question.rivals:
        slopes, offset = weight[question.foil] - weight[rival], bias[question.foil] - bias[rival]
        model.addConstr(_sum(slopes, units) >= question.kappa - offset + 1e-6)  # feasibility tolerance of the solver
    model.minimize(length + 0.0)
    if model.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return np.array([model.val(change) for change in z])


def _interval(weight: np.ndarray, bias: np.ndarray, low: np.ndarray, high: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    up, down = np.maximum(weight, 0), np.minimum(weight, 0)
    return up @ low + down @ high + bias, up @ high + down @ low + bias


def _relu(model: Any, units: list, slopes: np.ndarray, offset: float, least: float, most: float) -> Any:
    """Return a unit of the next layer, with a binary variable if its sign is open."""
    unit = model.addVariable(lb=0.0, ub=max(float(most), 0.0))
    if most > 0:
        before = _sum(slopes, units)
        model.addConstr(unit - before >= offset)
        if least >= 0:
            model.addConstr(unit - before <= offset)
        else:
            active = model.addBinary()
            model.addConstr(unit - before - float(least) * active <= offset - least)
            model.addConstr(unit - float(most) * active <= 0)
    return unit


def _sum(slopes: np.ndarray, units: list) -> Any:
    return sum(float(slope) * unit for slope, unit in zip(slopes, units, strict=True))


@dataclass(frozen=True)
class Peer:
    """One row of the table."""

    name: str
    find: Callable[[Task], Change]
    sees: str
    proves: str = "nothing"
    slow: bool = False
    """Whether it gets the first `SLOW` questions only."""


PEERS = {
    "differential_evolution": Peer("SciPy, differential evolution", differential_evolution, "scores"),
    "cma": Peer("pycma, CMA-ES", cma_es, "scores"),
    "nevergrad": Peer("Nevergrad, TwoPointsDE (1,000 queries)", nevergrad, "scores"),
    "dice_random": Peer("DiCE, random", dice_random, "probabilities"),
    "dice_genetic": Peer("DiCE, genetic", dice_genetic, "probabilities"),
    "foolbox_cw": Peer("Foolbox, Carlini-Wagner", foolbox_cw, "gradients", slow=True),
    "art_cw": Peer("ART, Carlini-Wagner", art_cw, "gradients", slow=True),
    "art_hsj": Peer("ART, HopSkipJump", art_hop_skip_jump, "decisions", slow=True),
}


def search_with(search: Search) -> Callable[[Task], Change]:
    """Return a search of ours as a function like the others."""

    def find(task: Task) -> Change:
        [found] = search.run(task.batch)
        return found.scaled_change

    return find


OURS = {
    "exact": Peer("**Exact**", search_with(Exact()), "weights", "closest, or that none exists"),
    "boundary": Peer("**Boundary**", search_with(Boundary()), "scores"),
    "cf-zoo": Peer("**CF-ZOO**", search_with(CFZoo()), "scores"),
    "nearest-front": Peer("**Nearest front**", search_with(NearestFront()), "scores"),
}


def agent_tasks(name: str, count: int) -> list[Task]:
    """Return questions of an agent's stress test that have an answer, evenly spread over it."""
    agent = load_agent(name)
    policy, cases = agent.policy, list(enumerate_cases(agent))
    assert isinstance(policy, PCNPolicy)

    def logits(state: torch.Tensor) -> Callable[[torch.Tensor], torch.Tensor]:
        [(weight, bias)], [(command_weight, command_bias)], head = (
            [(torch.from_numpy(w), torch.from_numpy(b)) for w, b in layers]
            for layers in (policy.state, policy.command, policy.head)
        )
        embedded = torch.sigmoid(nn.functional.linear(state, weight, bias))

        def at(commands: torch.Tensor) -> torch.Tensor:
            hidden = embedded * torch.sigmoid(nn.functional.linear(commands, command_weight, command_bias))
            for w, b in head[:-1]:
                hidden = torch.relu(nn.functional.linear(hidden, w, b))
            return nn.functional.linear(hidden, *head[-1])

        return at

    questions = [make_case_question(agent, *cases[i]) for i in evenly(len(cases), 2 * count)]
    return feasible([Task(question, logits(torch.from_numpy(question.state))) for question in questions])[:count]


def feasible(tasks: list[Task]) -> list[Task]:
    """Return the questions that have an answer: some peers search for ever if there is none."""
    return [task for task in tasks if measure(OURS["exact"].find, task).distance is not None]


def network_tasks(dim: int, count: int) -> list[tuple[Task, Plain]]:
    """Return questions about ReLU networks of two layers of 64 units, four each, which imitate random functions."""
    tasks = []
    for seed in range(-(-count // 4)):
        torch.manual_seed(seed)
        module = Plain(dim, 64, 2, nn.ReLU)
        imitate(module, dim, seed)
        for question in ask_network(module, dim, 4, seed):
            state = torch.from_numpy(question.state)

            def logits(commands: torch.Tensor, module: Plain = module, state: torch.Tensor = state) -> torch.Tensor:
                output: torch.Tensor = module(state.expand(len(commands), -1), commands)
                return output

            tasks.append((Task(question, logits), module))
    return tasks[:count]


@dataclass(frozen=True)
class Result:
    """What one method did with one question; `distance` is None if it found nothing that holds."""

    distance: float | None
    queries: int
    seconds: float


def stop(*_: object) -> None:
    raise TimeoutError


def measure(find: Callable[[Task], Change], task: Task) -> Result:
    """Ask one question, and check the change that is returned."""
    task.batch = QuestionBatch([task.question])
    began = time.process_time()
    signal.setitimer(signal.ITIMER_REAL, LIMIT)
    try:
        z = find(task)
    except TimeoutError:
        z = None
    signal.setitimer(signal.ITIMER_REAL, 0)
    seconds, queries = time.process_time() - began, task.batch.queries(0).total()
    if z is None or not np.isfinite(z).all():
        return Result(None, queries, seconds)
    z = task.clip(z)
    wins = task.margins(z[None])[0] >= -TOLERANCE
    return Result(float(task.batch.distances(z)) if wins else None, queries, seconds)


def row(peer: Peer, results: list[Result], exact: list[Result]) -> str:
    """Return one line of a table, with distances and times relative to Exact's."""
    pairs = list(zip(results, exact, strict=False))  # slow ones have fewer questions
    ratios = [mine.distance / best.distance for mine, best in pairs if mine.distance and best.distance]
    seconds = [mine.seconds / best.seconds for mine, best in pairs]
    spread = f"{np.mean(ratios):.3g} | {np.median(ratios):.3g}" if ratios else "– | –"
    cells = f"{len(ratios)} of {len(pairs)} | {spread} | {np.median([mine.queries for mine in results]):,.0f}"
    cpu = float(np.exp(np.mean(np.log(seconds))))
    times = f"{cpu:.0f}" if cpu >= 10 else f"{cpu:.2g}"
    return f"| {peer.name} | {peer.sees} | {cells} | {times} | {peer.proves} |"


HEAD = """| method | sees | found | mean distance | median distance | median queries | CPU | proves |
|---|---|---:|---:|---:|---:|---:|---|"""


def table(title: str, tasks: list[Task], peers: dict[str, Peer]) -> list[str]:
    lines, exact = ["", f"### {title}", "", *HEAD.splitlines()], list[Result]()
    for peer in peers.values():
        if not peer.slow:
            measure(peer.find, tasks[0])  # imports, and whatever is computed once
        results = [measure(peer.find, task) for task in (tasks[:SLOW] if peer.slow else tasks)]
        exact = exact or results
        lines.append(row(peer, results, exact))
        print(title, lines[-1], flush=True)
    return lines


def solver_table(count: int) -> list[str]:
    """Compare HiGHS with Exact in the norm linf, in which the question is a mixed-integer linear program."""
    lines = ["", "### ReLU networks, norm linf", "", *HEAD.splitlines()]
    solver = Peer("HiGHS", search_with(Exact()), "weights", "closest, or that none exists, within its tolerances")
    for name, dim in NETWORKS.items():
        exact, solved = list[Result](), list[Result]()
        for task, module in network_tasks(dim, count):
            task = Task(replace(task.question, norm="linf"), task._logits)
            most = measure(OURS["boundary"].find, task).distance
            if most is None:
                continue
            exact.append(measure(OURS["exact"].find, task))
            solved.append(measure(lambda task, m=module, most=most: highs(task, m, most), task))  # type: ignore[misc]
        for peer, results in ((OURS["exact"], exact), (solver, solved)):
            lines.append(row(replace(peer, name=f"{peer.name}, {name.split(', ')[1]}"), results, exact))
            print(lines[-1], flush=True)
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=8)
    parser.add_argument("--agents", nargs="*", default=AGENTS)
    parser.add_argument("--peers", nargs="*", choices=PEERS, default=tuple(PEERS))
    parser.add_argument("--out", type=Path, help="page whose tables are replaced")
    options = parser.parse_args()
    peers = OURS | {name: PEERS[name] for name in options.peers}
    signal.signal(signal.SIGALRM, stop)
    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    with one_thread():
        lines = [line for name in options.agents for line in table(name, agent_tasks(name, options.questions), peers)]
        for name, dim in NETWORKS.items():
            tasks = feasible([task for task, _ in network_tasks(dim, options.questions + 4)])
            lines += table(name, tasks[: options.questions], peers)
        lines += solver_table(options.questions)
    if options.out:
        page = options.out.read_text()
        before, after = page.partition(START)[0], page.partition(END)[2]
        options.out.write_text("\n".join([before + START, *lines, "", END + after]))


if __name__ == "__main__":
    main()
