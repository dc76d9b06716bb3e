"""`paretofoil train`, also on environments that are not in the catalogue."""

import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from paretofoil.agents.store import save_agent
from paretofoil.envs.episode import run_episodes

MODULE = """
import gymnasium, random, threading, numpy as np

class Mine(gymnasium.Env):
    metadata = {"render_modes": []}
    observation_space = gymnasium.spaces.Box(0, 3, (1,), np.float32)
    action_space = gymnasium.spaces.Discrete(2)
    reward_space = gymnasium.spaces.Box(-1, 3, (2,), np.float32)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.depth = 0
        return np.zeros(1, np.float32), {}

    def step(self, action):
        self.depth += int(action)
        reward = [0.0 if action else self.depth, -1.0]
        return np.array([self.depth], np.float32), np.array(reward), not action or self.depth == 3, False, {}

class Named(Mine):
    objective_names = ("ore (kg)", "-fuel")
    action_names = ("dig=dug", "go down")
    description = "Dig for ore."

class Fixed(Named):
    def __init__(self):
        self.engine = threading.Lock()  # cannot be copied

class Lucky(Fixed):
    def step(self, action):
        observation, reward, *others = super().step(action)
        return observation, reward + random.random(), *others  # chance without a seed

class Broken(Named):
    def step(self, action):
        observation, reward, *others = super().step(action)
        return observation, reward + (np.nan if self.depth == 2 else 0.0), *others

gymnasium.register("broken-v0", Broken, max_episode_steps=4)
gymnasium.register("my-env-v0", Mine)
gymnasium.register("named-v0", Named, max_episode_steps=4)
gymnasium.register("fixed-v0", Fixed, max_episode_steps=4)
gymnasium.register("lucky-v0", Lucky, max_episode_steps=4)
"""


@pytest.fixture
def module(tmp_path):
    (tmp_path / "my_module.py").write_text(MODULE)
    yield "my_module"
    import gymnasium

    sys.modules.pop("my_module", None)
    for gym_id in ("my-env-v0", "named-v0", "broken-v0", "fixed-v0", "lucky-v0"):
        gymnasium.registry.pop(gym_id, None)


def test_an_agent_is_trained_listed_and_explained(run):
    told = run("train", "reward-line", "--steps", "8000", "--name", "mine", "--quiet").out
    assert "front points" in told
    assert "mine" in run("agents").out
    assert "Had you asked" in run("explain", "mine", "--command", "0.5,0.5", "--foil", "left").out


def test_an_uncatalogued_environment_is_trained_with_typed_names(module, tmp_path):
    names = ["--objectives", "ore,-fuel", "--actions", "dig,go", "--max-steps", "4"]
    brief = ["--steps", "200", "--set", "polish_rounds=1", "--name", "mine"]
    verbs = [["train", "my_module:my-env-v0", *names, *brief], ["explain", "mine", "--command", "ore=2,fuel=3"]]
    verbs[1] += ["--all-foils", "--search", "boundary", "--allow-import", "my_module"]
    code = "from paretofoil.cli import main; main()"  # as the installed program: this folder is not on the path
    told = [
        subprocess.run([sys.executable, "-P", "-c", code, *verb], capture_output=True, text=True, cwd=tmp_path)
        for verb in verbs
    ]
    assert [done.returncode for done in told] == [0, 0], told
    assert "Asked for 2 ore and 3 fuel, the agent chooses" in told[1].stdout


def test_an_environment_can_name_its_objectives_and_actions(run, module):
    from paretofoil.cli.envs import find_environment

    run("train", "my_module:named-v0", "--settings")
    entry = find_environment("my_module:named-v0")
    assert [(o.name, o.unit, o.cost) for o in entry.objectives] == [("ore", "kg", False), ("fuel", "", True)]
    assert entry.actions == ("dig", "go down")
    assert entry.phrases == ("dug", "chosen go down")
    assert entry.description == "Dig for ore."
    typed = find_environment("my_module:named-v0", "ore,-fuel (l)", "dig, go=gone down", None, "Dig.")
    assert (typed.objectives[1].unit, typed.phrases, typed.description) == ("l", ("chosen dig", "gone down"), "Dig.")


def test_an_agent_keeps_what_its_environment_says_of_itself(run, module):
    from paretofoil import load_agent

    assert run("train", "my_module:named-v0", *BRIEF, "--name", "mine").err == ""
    entry = load_agent("agents/mine").environment
    assert (entry.stochastic, entry.phrases, entry.description) == (False, ("dug", "chosen go down"), "Dig for ore.")
    assert entry.objectives[0].unit == "kg"
    fixed = replace(load_agent("agents/mine"), environment=replace(entry, start_seed=0, real_returns=True))
    save_agent(fixed, Path("agents/fixed"))
    entry = load_agent("agents/fixed").environment
    assert (entry.start_seed, entry.real_returns) == (0, True)


def test_an_environment_that_cannot_be_copied_is_replayed_for_consequences(run, module):
    assert run("train", "my_module:fixed-v0", *BRIEF, "--name", "mine").err == ""
    said = run("explain", "mine", "--command", "ore=2,fuel=3", "--all-foils", "--allow-import", "my_module").out
    assert "the episode ends" in said


def test_an_environment_that_cannot_be_copied_or_replayed_gets_answers_without_consequences(run, module):
    from paretofoil import load_agent, rollout

    told = run("train", "my_module:lucky-v0", *BRIEF, "--name", "mine").err
    assert told == (
        "note: my_module:lucky-v0 can neither be copied nor replayed, so answers about its agents will have no "
        "rollouts.\n"
    )
    agent = load_agent("agents/mine")
    assert not any(decision.snapshot for decision in rollout(agent, agent.front[0]))
    said = run("explain", "mine", "--command", "ore=2,fuel=3", "--all-foils", "--allow-import", "my_module").out
    assert "Asked for 2 kg" in said
    assert "the episode ends" not in said


def test_an_agent_of_a_plain_id_of_mo_gymnasium_is_loaded_and_explained(run):
    names = ["--objectives", "treasure,-time (steps)", "--actions", "up,down,left,right"]
    told = run("train", "deep-sea-treasure-concave-v0", *BRIEF, *names, "--name", "mine").err
    assert told.splitlines()[0] == (
        "note: the catalogue has deep-sea-treasure-concave-v0 in a faster form, with names and masks: paretofoil train "
        "deep-sea-treasure"
    )
    code = "from paretofoil.cli import main; main()"  # a new process, in which mo_gymnasium is not imported
    verb = ["explain", "mine", "--command", "1,-1", "--all-foils"]
    done = subprocess.run([sys.executable, "-c", code, *verb], capture_output=True, text=True)
    assert (done.returncode, "Asked for 1 treasure" in done.stdout) == (0, True), done.stderr


def test_images_are_refused_before_the_training(run, tmp_path):
    told = run("train", "minecart-rgb-v0", *BRIEF, code=2).err
    assert told == (
        "error: expected observations of at most 4,000 numbers, because a PCN has no layers for images, got 691,200 in "
        "minecart-rgb-v0\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["my-env-v0"],
            "expected --max-steps, because my_module:my-env-v0 is registered without a step limit, got none",
        ),
        (["named-v0", "--objectives", "ore"], "expected 2 different names of objectives, got ore"),
        (["named-v0", "--actions", "go,go"], "expected 2 different names of actions, got go, go"),
    ],
)
def test_missing_names_and_limits_of_an_environment_are_errors(run, module, arguments, message):
    assert message in run("train", f"my_module:{arguments[0]}", *arguments[1:], code=2).err


def test_rewards_that_are_not_finite_are_an_error_that_names_the_environment(run, module):
    told = run("train", "my_module:broken-v0", *BRIEF, code=2).err
    assert "expected the reward of my_module:broken-v0 to be finite, got [nan" in told


def test_exploration_and_returns_have_their_own_presets(run):
    def settings(*options):
        lines = run("train", "breakable-bottles", *options, "--settings").out.splitlines()
        return {words[0]: words[1] for words in (line.replace("│", " ").split() for line in lines) if len(words) == 2}

    assert settings()["returns"] == "expected"
    lucky = settings("--returns", "realised")
    assert (lucky["explore"], lucky["returns"], lucky["episode_steps"]) == ("plans", "realised", "None")
    plain = settings("--explore", "plain")
    assert (plain["explore"], plain["returns"], plain["polish_rounds"]) == ("plain", "realised", "0")
    assert settings("--explore", "plain", "--returns", "expected")["returns"] == "expected"
    assert (
        "expected one of plain, plans as explore, got 'bold'"
        in run("train", "minecart", "--explore", "bold", code=2).err
    )


def test_plain_exploration_is_part_of_the_agents_name(run, tmp_path):
    brief = ["--explore", "plain", "--set", "warmup=300", "--set", "hidden=16", "--quiet"]
    run("train", "reward-line", *brief, "--steps", "7000")
    assert (tmp_path / "agents" / "reward-line-plain" / "agent.json").exists()


BRIEF = ["--steps", "300", "--set", "polish_rounds=0", "--set", "hidden=8", "--set", "warmup=5", "--quiet"]


def test_an_existing_agent_is_replaced_only_with_overwrite(run, tmp_path):
    stored = tmp_path / "agents" / "branch-path" / "agent.json"
    run("train", "branch-path", *BRIEF)
    before = stored.read_bytes()
    told = run("train", "branch-path", *BRIEF, "--seed", "9", code=2).err
    assert "another --name or --out, or --overwrite, got agents/branch-path, which contains an agent" in told
    assert stored.read_bytes() == before
    run("train", "branch-path", *BRIEF, "--seed", "9", "--overwrite")
    assert stored.read_bytes() != before


def test_a_stopped_training_is_resumed_or_overwritten_only_on_request(run, tmp_path, monkeypatch):
    from paretofoil.pcn.train import Trainer

    checkpoint = tmp_path / "agents" / "branch-path" / "checkpoint.safetensors"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "finished", property(lambda trainer: trainer.iteration > 1))
        patch.setattr(Trainer, "result", stopped(Trainer.result))
        assert "continue with --resume" in run("train", "branch-path", *BRIEF).out
    kept = checkpoint.read_bytes()
    told = run("train", "branch-path", *BRIEF, code=2).err
    assert (
        "--resume to continue a stopped training, or --overwrite to replace it, got agents/branch-path with a" in told
    )
    assert checkpoint.read_bytes() == kept
    told = run("train", "collect-two", "--out", "agents/branch-path", "--resume", *BRIEF, code=2).err
    assert "to be a checkpoint of collect-two, got one of branch-path" in told
    assert checkpoint.read_bytes() == kept
    run("train", "branch-path", *BRIEF, "--overwrite")
    assert not checkpoint.exists()


def test_an_interrupted_training_is_saved_and_exits_as_interrupted(run, tmp_path, monkeypatch):
    from paretofoil.pcn.train import Trainer

    with monkeypatch.context() as patch:
        explore = Trainer.explore
        patch.setattr(Trainer, "explore", lambda trainer: (signal.raise_signal(signal.SIGINT), explore(trainer))[1])
        told = run("train", "branch-path", *BRIEF, "--steps", "3000", code=130).out
    assert "Stopped early (continue with --resume); branch-path: " in told
    assert "Trained branch-path: " in run("train", "branch-path", *BRIEF, "--steps", "3000", "--resume").out


@pytest.mark.parametrize("moment", ["learner", "environment"])
def test_sigterm_ends_a_training_at_once_and_the_resumed_one_has_the_same_result(run, tmp_path, monkeypatch, moment):
    from paretofoil.pcn.network import Learner
    from paretofoil.pcn.train import Trainer

    calls = []

    def terminated(function):
        def call(*arguments, **options):
            result = function(*arguments, **options)
            calls.append(function)
            if len(calls) == 3:
                signal.raise_signal(signal.SIGTERM)
            return result

        return call

    weights = tmp_path / "agents" / "branch-path" / "weights.safetensors"
    run("train", "branch-path", *BRIEF, "--steps", "1500")
    expected = weights.read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "result", None)  # the policy is not measured
        if moment == "learner":
            patch.setattr(Learner, "fit", terminated(Learner.fit))
        else:
            patch.setattr("paretofoil.pcn.train.run_episodes", terminated(run_episodes))
        told = run("train", "branch-path", *BRIEF, "--steps", "1500", "--overwrite", code=143).out
    assert told == "Stopped (continue with --resume). Saved a checkpoint in agents/branch-path.\n"
    assert len(calls) == 3
    run("train", "branch-path", *BRIEF, "--steps", "1500", "--resume")
    assert weights.read_bytes() == expected


def test_endless_settings_are_refused_before_the_training(run, tmp_path):
    for arguments in (["--minutes", "inf"], ["--set", "gain=inf"], ["--set", "hidden=99999999"]):
        told = run("train", "branch-path", *BRIEF, *arguments, code=2).err
        assert "of at most" in told
    assert list(tmp_path.iterdir()) == []


def test_a_loss_that_is_not_finite_ends_the_training(run, monkeypatch):
    monkeypatch.setattr("paretofoil.pcn.network.Learner.fit", lambda *_: float("nan"))
    told = run("train", "branch-path", *BRIEF, code=2).err
    assert "expected a finite loss (try a smaller learning_rate), got nan" in told


def stopped(result):
    """What a training that was interrupted gives back."""
    return lambda trainer: replace(result(trainer), finished=False)


def test_a_warm_up_longer_than_the_exploration_is_noted(run):
    told = run("train", "branch-path", "--explore", "plain", "--steps", "300", *BRIEF[2:]).err
    assert told == ""
    told = run("train", "branch-path", *BRIEF, "--set", "warmup=400", "--name", "other").err
    assert told == (
        "note: the warm-up of 400 episodes of at most 13 steps may take 5,200 steps, more than --steps 300; shorten it "
        "with --set warmup=N.\n"
    )


def test_a_folder_that_cannot_be_made_is_an_error(run):
    told = run("train", "branch-path", *BRIEF, "--out", "/proc/foo", code=2).err
    assert told == "error: expected a folder that can be created, got /proc/foo (No such file or directory)\n"
