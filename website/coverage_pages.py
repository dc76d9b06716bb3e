"""Try every environment of MO-Gymnasium and every kind of agent of other libraries, and write two pages about it.

Each trial is a process of its own with a time limit. Install what should be tried before (extras of MO-Gymnasium,
sb3-contrib, morl-baselines), then run `python website/coverage_pages.py`. With arguments, only the environments and
agents with these names are tried; the other rows of the pages stay as they are.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1] / "docs"
SECONDS = 600
"""The time limit of a process."""
SAMPLES = 256
"""Random commands at which the amounts of a continuous action are computed."""
LARGER = {"ortho_init": False}
"""Of the on-policy models of Stable-Baselines3: a last layer that is not 100 times smaller than the others. Otherwise
no command moves the untrained model by more than rounding errors that are allowed for."""
ON_POLICY = ("PPO", "A2C", "TRPO", "MaskablePPO", "RecurrentPPO")
VERB = [sys.executable, "-c", "from paretofoil.cli import main; main()"]
BRIEFLY = {"warmup": 4, "episodes": 4, "candidates": 1, "rollouts": 2, "hidden": 16, "polish_rounds": 1}
LONGER = {"warmup": 400, "hidden": 16, "polish_rounds": 1}
"""For environments in which four random episodes have no reward, or a reward that two repetitions do not have."""


@dataclass(frozen=True)
class Trial:
    """What was tried, and what happened."""

    name: str
    outcome: str
    """"explained", "refused", "not installed", "too slow" or "failed"."""
    words: str = ""


def run(command: list[str]) -> tuple[int, str, str]:
    """Return the exit code, standard output and error of a process; the code is 124 if it took too long."""
    settings = {**os.environ, "OMP_NUM_THREADS": "1", "COLUMNS": "1000", "PYTHONWARNINGS": "ignore"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, env=settings)
    except subprocess.TimeoutExpired:
        return 124, "", f"more than {SECONDS} seconds"
    return done.returncode, done.stdout, done.stderr


def judge(name: str, code: int, error: str) -> Trial:
    """Return the trial of a process that did not succeed."""
    if code == 124:
        return Trial(name, "too slow", error)
    lines = error.strip().splitlines() or [""]
    refused = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    missing = [line for line in lines if "No module named" in line or "is not installed" in line]
    if missing or (refused and "pip install" in refused[0]):
        return Trial(name, "not installed", (missing or refused)[-1])
    if code == 2 and refused:
        return Trial(name, "refused", refused[0])
    return Trial(name, "failed", lines[-1])


def try_environment(name: str) -> Trial:
    """Train an agent for a moment, or a little longer if that met no reward, load it in another process, explain it."""
    with tempfile.TemporaryDirectory() as folder:
        train = ["train", name, "--steps", "200", "--out", folder, "--overwrite", "--quiet", "--max-steps", "20"]
        for settings in (BRIEFLY, LONGER):
            sets = [word for setting, value in settings.items() for word in ("--set", f"{setting}={value}")]
            code, _, error = run([*VERB, *train, *sets])
            if "at least one episode with a reward" not in error:
                break
        if code:
            return judge(name, code, error)
        notes = [line.removeprefix("note: ") for line in error.splitlines() if line.startswith("note: ")]
        notes = [line for line in notes if "warm-up" not in line]
        front = json.loads((Path(folder) / "agent.json").read_text())["front"]
        command = ",".join(f"{number:g}" for number in front[0])
        code, _, error = run([*VERB, "explain", folder, f"--command={command}", "--all-foils"])
        if code:
            return judge(name, code, error)
        return Trial(name, "explained", " ".join(notes))


def environments() -> list[str]:
    """Return the ids of MO-Gymnasium."""
    import gymnasium
    import mo_gymnasium  # noqa: F401 (registers them)

    specs = gymnasium.registry.values()
    return [spec.id for spec in specs if str(spec.entry_point).startswith("mo_gymnasium")]


def explain(policy: Any, state: Any, command: Any, space: Any = None) -> None:
    """Ask for the foil of the second-best action, or for another amount of the first continuous action.

    The amount is half-way to the one that is farthest among those of random commands, since untrained actors differ
    much in how far a command moves them.
    """
    import numpy as np

    import paretofoil as pf

    foil: Any
    states = np.asarray(state, np.float32)[None]
    numbers = policy.features.complete(np.asarray(state), None) if command is None else np.asarray(command)
    if hasattr(policy, "amounts"):
        region = space or policy.space
        commands = np.random.default_rng(0).uniform(region.low, region.high, size=(SAMPLES, region.dim))
        commands = region.project(commands, region.low, region.high)
        commands = np.concatenate([numbers[None], commands])
        amounts = policy.actions.clip(policy.amounts(np.repeat(states, len(commands), axis=0), commands))[:, 0]
        moves = amounts - amounts[0]
        move = float(moves[np.abs(moves).argmax()]) / 2
        foil = (pf.less if move < 0 else pf.more)(policy.actions.names[0], abs(move) or 1e-3)
    else:
        foil = int(np.argsort(policy.log_probs(states, numbers[None])[0])[-2])
    answer = pf.explain(policy, state=state, command=command, foil=foil, space=space)
    print(f"explained: {answer.status.value}")


def goal_environment(continuous: bool) -> Any:
    """Return an environment with a goal: two numbers, and four actions or two continuous ones."""
    import gymnasium
    import numpy as np
    from gymnasium import spaces

    box = spaces.Box(-1.0, 1.0, (2,), np.float32)

    class Goal(gymnasium.Env[Any, Any]):
        observation_space = spaces.Dict(observation=box, achieved_goal=box, desired_goal=box)
        action_space: Any = box if continuous else spaces.Discrete(4)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            super().reset(seed=seed)
            return {name: self.np_random.uniform(-1, 1, 2).astype(np.float32) for name in self.observation_space}, {}

        def step(self, action: Any) -> Any:
            return self.reset()[0], 0.0, True, False, {}

        def compute_reward(self, achieved: Any, desired: Any, info: Any) -> Any:
            return -np.abs(achieved - desired).sum(axis=-1)

        def action_masks(self) -> Any:
            return np.ones(4, dtype=bool)

    return Goal()


def sb3(
    kind: str, package: str = "stable_baselines3", continuous: bool = False, policy: str = "MultiInputPolicy"
) -> None:
    """Explain a model of Stable-Baselines3 or sb3-contrib."""
    from importlib import import_module

    import paretofoil as pf

    env = goal_environment(continuous)
    settings = LARGER if kind in ON_POLICY else {}
    model = getattr(import_module(package), kind)(policy, env, device="cpu", seed=0, policy_kwargs=settings)
    observation, _ = env.reset(seed=0)
    white_box = pf.from_sb3(model, observation)
    explain(white_box, *white_box.module.split(observation))  # type: ignore[operator]


def features(kind: str, actions: Any, package: str = "stable_baselines3", **arguments: Any) -> None:
    """Explain an untrained model without a command by features of its observation."""
    from importlib import import_module

    import gymnasium as gym
    import numpy as np

    import paretofoil as pf

    class Still(gym.Env):
        """An environment that only has spaces."""

        observation_space = gym.spaces.Box(-1.0, 1.0, (3,), np.float32)
        action_space = actions(gym.spaces)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            return np.zeros(3, np.float32), {}

        def step(self, action: Any) -> Any:
            return np.zeros(3, np.float32), 0.0, True, False, {}

    settings = LARGER if kind in ON_POLICY else {}
    model = getattr(import_module(package), kind)("MlpPolicy", Still(), device="cpu", seed=0, policy_kwargs=settings)
    policy = pf.from_sb3(model, free=[0, 1], **arguments)
    explain(policy, [0.1, 0.2, 0.3], None)


def taxi() -> None:
    """Explain an untrained model of Taxi by whole features."""
    from stable_baselines3 import DQN

    import paretofoil as pf

    model = DQN("MlpPolicy", "Taxi-v4", device="cpu", seed=0)
    explain(pf.from_sb3(model, free=["taxi row", "taxi column"]), [123.0], None)


SEA, CAR = "deep-sea-treasure-concave-v0", "mo-mountaincarcontinuous-v0"


def morl(name: str, env: str, **arguments: Any) -> Any:
    """Return an untrained agent of MORL-Baselines, by the path of its class."""
    from importlib import import_module

    import mo_gymnasium

    module, _, kind = f"morl_baselines.multi_policy.{name}".rpartition(".")
    return getattr(import_module(module), kind)(mo_gymnasium.make(env), log=False, seed=0, **arguments)  # type: ignore[attr-defined]


def pcn(environment: str, name: str, front: str) -> None:
    """Import a PCN from its file and explain its first decision under the first command of a front."""
    import numpy as np

    import paretofoil as pf

    agent = morl("pcn.pcn.PCN", environment, scaling_factor=np.array([0.1, 0.1, 0.01]))
    with tempfile.TemporaryDirectory() as folder:
        agent.save("pcn", folder)
        Path(folder, "front.txt").write_text(front)
        imported = pf.import_agent(Path(folder, "pcn.pt"), name, front=Path(folder, "front.txt"))
    command = imported.front[0]
    explain(imported.policy, pf.rollout(imported, command)[0].state, command, imported.space)


def actor_file(name: str) -> None:
    """Explain an actor of MORL-Baselines with continuous actions, read from its file."""
    import numpy as np

    import paretofoil as pf

    agent = morl(name, CAR)
    if hasattr(agent, "set_weight_support"):
        agent.set_weight_support([np.array([1.0, 0.0])])
    with tempfile.TemporaryDirectory() as folder:
        agent.save(save_replay_buffer=False, save_dir=folder, filename="model")
        policy = pf.from_morl(f"{folder}/model.tar", ["time", "fuel"], ["force"])
    explain(policy, [-0.5, 0.0], [0.5, 0.5])


def envelope() -> None:
    """Explain Envelope Q-learning."""
    import paretofoil as pf

    space = pf.CommandSpace.preferences(["treasure", "time"])
    policy = pf.from_q_module(morl("envelope.envelope.Envelope", SEA).q_net.eval(), [0.0, 0.0], space)
    explain(policy, [0.0, 0.0], [0.5, 0.5])


def gpi(kind: str) -> None:
    """Explain GPI-LS or GPI-PD."""
    import numpy as np
    import torch

    import paretofoil as pf

    agent = morl(f"gpi_pd.gpi_pd.{kind}", SEA)
    agent.set_weight_support([np.array([1.0, 0.0]), np.array([0.0, 1.0]), np.array([0.5, 0.5])])
    network, support = agent.q_nets[0], torch.stack(agent.weight_support)

    @torch.no_grad()
    def vectors(state: Any) -> Any:
        network.eval()
        states = torch.as_tensor(state, dtype=torch.float32).expand(len(support), -1)
        return network(states, support).permute(1, 0, 2).numpy()

    space = pf.CommandSpace.preferences(["treasure", "time"])
    explain(pf.from_q_table(vectors), np.zeros(2, np.float32), [0.4, 0.6], space)


def file_of(name: str, **arguments: Any) -> None:
    """Import the file of an agent that `paretofoil import` does not read."""
    import paretofoil as pf

    agent = morl(name, CAR if "capql" in name or "continuous" in name else SEA, **arguments)
    if hasattr(agent, "set_weight_support"):
        import numpy as np

        agent.set_weight_support([np.array([1.0, 0.0])])
    with tempfile.TemporaryDirectory() as folder:
        agent.save(save_replay_buffer=False, save_dir=f"{folder}/", filename="model")
        pf.import_agent(f"{folder}/model.tar", "deep-sea-treasure")


def decision_transformer() -> None:
    """Explain a Decision Transformer at its first step."""
    import d3rlpy
    import numpy as np
    import torch

    import paretofoil as pf

    class LastStep(torch.nn.Module):
        def __init__(self, network: Any) -> None:
            super().__init__()
            self.network = network

        def forward(self, states: Any, commands: Any) -> Any:
            nothing = torch.zeros(len(states), 1)
            _, logits = self.network(states[:, None], nothing[..., None], commands[:, None], nothing.long(), nothing)
            return logits[:, -1]

    encoder = d3rlpy.models.VectorEncoderFactory([64])
    dt = d3rlpy.algos.DiscreteDecisionTransformerConfig(num_heads=4, num_layers=2, encoder_factory=encoder).create()
    dt.create_impl((3,), 4)
    space = pf.CommandSpace(np.zeros(1), np.full(1, 10.0), objectives=["return"])
    module = LastStep(dt.impl.modules.transformer.eval())
    explain(pf.from_torch(module, [0.1, 0.2, 0.3], space, outputs="logits"), [0.1, 0.2, 0.3], [8.0])


CONTRIB = "sb3_contrib"
FEATURES = "`pf.from_sb3(..., free=[...])`"
MORL, SB3, SB3_CONTRIB = "MORL-Baselines", "Stable-Baselines3", "sb3-contrib"
AGENTS: dict[str, tuple[str, str, Callable[[], None]]] = {
    **{k: (SB3, "`pf.from_sb3`", partial(sb3, k)) for k in ("PPO", "A2C", "DQN")},
    **{
        f"{k}, continuous": (SB3, "`pf.from_sb3`", partial(sb3, k, continuous=True))
        for k in ("PPO", "A2C", "SAC", "TD3", "DDPG")
    },
    **{k: (SB3_CONTRIB, "`pf.from_sb3`", partial(sb3, k, CONTRIB)) for k in ("MaskablePPO", "TRPO", "QRDQN")},
    **{
        f"{k}, continuous": (SB3_CONTRIB, "`pf.from_sb3`", partial(sb3, k, CONTRIB, continuous=True))
        for k in ("TRPO", "TQC")
    },
    **{
        f"{k}, no command": (SB3, FEATURES, partial(features, k, lambda spaces: spaces.Discrete(3)))
        for k in ("PPO", "A2C", "DQN")
    },
    "DQN, one-hot observation": (SB3, FEATURES, taxi),
    **{
        f"{k}, no command, continuous": (
            SB3,
            FEATURES,
            partial(features, k, lambda spaces: spaces.Box(-1.0, 1.0, (1,))),
        )
        for k in ("PPO", "SAC", "TD3")
    },
    "PPO, MultiDiscrete": (
        SB3,
        "`pf.from_sb3(..., dimension=0)`",
        lambda: features("PPO", lambda spaces: spaces.MultiDiscrete([3, 2]), dimension=0),
    ),
    **{
        f"{k}, no command": (SB3_CONTRIB, FEATURES, partial(features, k, lambda spaces: spaces.Discrete(3), CONTRIB))
        for k in ("MaskablePPO", "TRPO", "QRDQN")
    },
    "RecurrentPPO": (SB3_CONTRIB, "`pf.from_sb3`", lambda: sb3("RecurrentPPO", CONTRIB, policy="MultiInputLstmPolicy")),
    "PCN": (MORL, "`paretofoil import`", lambda: pcn(SEA, "deep-sea-treasure", "8,-8,8\n1,-1,1\n")),
    "PCN, continuous": (
        MORL,
        "`paretofoil import`",
        lambda: pcn("water-reservoir-v0", "water-reservoir", "-36,-78,12\n-40,-60,12\n"),
    ),
    "Envelope": (MORL, "`pf.from_q_module`", envelope),
    "Envelope, its file": (MORL, "`paretofoil import`", lambda: file_of("envelope.envelope.Envelope")),
    "GPI-LS": (MORL, "`pf.from_q_table`", lambda: gpi("GPILS")),
    "GPI-PD": (MORL, "`pf.from_q_table`", lambda: gpi("GPIPD")),
    "GPI-LS, its file": (MORL, "`paretofoil import`", lambda: file_of("gpi_pd.gpi_pd.GPILS")),
    **{
        f"{k}, continuous": (MORL, "`pf.from_morl`", partial(actor_file, f"gpi_pd.gpi_pd_continuous_action.{name}"))
        for k, name in (("GPI-LS", "GPILSContinuousAction"), ("GPI-PD", "GPIPDContinuousAction"))
    },
    "CAPQL": (MORL, "`pf.from_morl`", partial(actor_file, "capql.capql.CAPQL")),
    "CAPQL, its file": (MORL, "`paretofoil import`", lambda: file_of("capql.capql.CAPQL")),
    "DiscreteDecisionTransformer, 2 x 64": ("d3rlpy", "`pf.from_torch`", decision_transformer),
}
"""Library, door and trial of each kind of agent."""


def make_repeatable() -> None:
    """Seed what the libraries draw weights from, and count CPU time, so that other processes do not matter."""
    import random
    import time

    import numpy as np
    import torch

    random.seed(0)
    np.random.seed(0)  # noqa: NPY002 (MORL-Baselines uses the global generator)
    torch.manual_seed(0)
    time.perf_counter = time.process_time


def try_agent(name: str) -> Trial:
    code, said, error = run([sys.executable, __file__, "--agent", name])
    if code or "explained: " not in said:
        return judge(name, code, error)
    return Trial(name, "explained", said.rpartition("explained: ")[2].strip())


COUNTS = ("explained", "refused", "not installed", "too slow", "failed")
ENVIRONMENTS_PAGE = """# Environments that can be trained and explained

This page lists the environments in which you can train and explain an agent. Each id that MO-Gymnasium {version}
registers was tried with `paretofoil train ID`: a trial briefly trains an agent, stores it, loads it in another process,
and explains a decision. {counts}.

The last column has the error, or a note that `paretofoil train` prints. *The catalogue* is the list of environments
that `paretofoil envs` prints; it is described [below](#environments-of-the-catalogue). `python
website/coverage_pages.py` writes this page.

| id | result | message |
|---|---|---|
{rows}

[Continuous actions](continuous-actions.md) says what can be asked about agents with continuous actions.

## Environments of the catalogue

Paretofoil knows the names, units, pictures and valid actions of these environments. All but the last two have a fast
batched simulation. `paretofoil envs NAME` shows the details of one. The fourth column says how many points of its front
each shipped agent reaches.

| name | id | step limit | shipped agents (points reached, of all points of the agent's front) | needs |
|---|---|---|---|---|
{catalogue}

In MO-Gymnasium, the episodes of `mountain-car`, `lunar-lander` and `reacher` start in a random state. In the catalogue,
every episode starts in the state of seed 0, as in the app of the paper's authors. No agent is shipped for
`lunar-lander` and `reacher`, because ten minutes of training on a busy core are not enough. With
`paretofoil train ENVIRONMENT --minutes 10 --steps 100000000`, the agent of `lunar-lander` reached 2 of the 27 points of
its front, and the agent of `reacher` 11 of 200.

WalkRoom, `three-tree`, `four-room`, `mountain-car`, `lunar-lander` and `reacher` come from the code of the paper's
authors. Their layouts, step limits, observations and valid actions are those of that code. Those with an id of
MO-Gymnasium keep its rewards and dynamics. In `four-room`, seven Pareto-optimal returns are possible within 40 steps;
four of them are on the front of its agent.
"""
AGENTS_PAGE = """# Kinds of agents that can be explained

This page lists the kinds of agents from other libraries that Paretofoil can explain. For each kind, an untrained agent
was created and one of its decisions was explained. {counts}. The last column has the status of the answer, or the
error.

For discrete actions, the foil is the second-best action. For continuous actions, the foil is half of the largest change
of the amount under random commands. `python website/coverage_pages.py` writes this page.

| agent | library | by | result | status or message |
|---|---|---|---|---|
{rows}

Policies without a command are explained by [features of the state](features.md). Examples are PGMORL, MORL/D, EUPG, and
models of Stable-Baselines3 without a Dict observation.
"""


def counts(trials: list[Trial]) -> str:
    """Return how many trials had each outcome, in words."""
    numbers = {outcome: sum(trial.outcome == outcome for trial in trials) for outcome in COUNTS}
    parts = [f"{number} {outcome}" for outcome, number in numbers.items() if number]
    return f"Result of {len(trials)} trials: {', '.join(parts)}"


def cell(text: str) -> str:
    """Return a text for a table, with files without their folders."""
    return re.sub(r"/tmp/\S*/", "", text).replace("|", "\\|").replace("<", "&lt;")


def read_page(name: str) -> dict[str, Trial]:
    """Return the trials on a page by their names."""
    text = (DOCS / name).read_text().partition("\n## ")[0]
    rows = [line[2:-1].split(" | ") for line in text.splitlines() if line.startswith("| ")]
    trials = [Trial(row[0], row[-2], row[-1].strip().replace(r"\|", "|")) for row in rows[1:]]
    return {trial.name: trial for trial in trials}


def catalogue_rows() -> str:
    """Return the rows of the environments of the catalogue, with the shipped agents of each."""
    from paretofoil import envs, load_agent
    from paretofoil.agents.store import shipped_folder

    agents = [load_agent(folder) for folder in sorted(shipped_folder().iterdir())]
    rows = []
    for entry in map(envs.entry, envs.names()):
        own = [
            f"{agent.name} ({int(agent.reached().sum())} of {len(agent.front)})"
            for agent in agents
            if agent.environment.name == entry.name
        ]
        needs = f"`[{entry.requires}]`" if entry.requires else ""
        rows.append(
            f"| {entry.name} | {entry.gym_id.split(':')[-1]} | {entry.max_steps} | {', '.join(own)} | {needs} |"
        )
    return "\n".join(rows)


def write_pages(environment_trials: list[Trial], agent_trials: list[Trial]) -> None:
    from importlib.metadata import version

    rows = [f"| {t.name} | {t.outcome} | {cell(t.words)} |" for t in environment_trials]
    page = ENVIRONMENTS_PAGE.format(
        version=version("mo-gymnasium"),
        counts=counts(environment_trials),
        rows="\n".join(rows),
        catalogue=catalogue_rows(),
    )
    (DOCS / "coverage-environments.md").write_text(page)
    rows = [
        f"| {t.name} | {AGENTS[t.name][0]} | {AGENTS[t.name][1]} | {t.outcome} | {cell(t.words)} |"
        for t in agent_trials
    ]
    (DOCS / "coverage-agents.md").write_text(AGENTS_PAGE.format(counts=counts(agent_trials), rows="\n".join(rows)))


def main() -> None:
    if "--agent" in sys.argv:
        from paretofoil.core.errors import InvalidInput

        make_repeatable()
        try:
            AGENTS[sys.argv[-1]][2]()
        except InvalidInput as error:
            print(f"error: {error}", file=sys.stderr)
            sys.exit(2)
        return
    wanted = sys.argv[1:]
    pages = "coverage-environments.md", "coverage-agents.md"
    tried = [(environments(), try_environment), (list(AGENTS), try_agent)]

    def trial(name: str, attempt: Callable[[str], Trial], known: dict[str, Trial]) -> Trial:
        if wanted and name not in wanted and name in known:
            return known[name]
        done = attempt(name)
        print(f"{name}: {done.outcome} {done.words}", file=sys.stderr, flush=True)
        return done

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        environment_trials, agent_trials = (
            list(pool.map(partial(trial, attempt=attempt, known=known), names))
            for (names, attempt), known in zip(tried, map(read_page, pages), strict=True)
        )
    write_pages(environment_trials, agent_trials)
    sys.exit(any(done.outcome == "failed" for done in (*environment_trials, *agent_trials)))


if __name__ == "__main__":
    main()
