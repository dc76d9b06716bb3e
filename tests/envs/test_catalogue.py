"""The catalogue: what it names, what it makes, and how a user adds to it."""

import subprocess
import sys
from dataclasses import replace

import gymnasium
import numpy as np
import pytest

import paretofoil as pf
from paretofoil import envs
from paretofoil.agents.agent import Agent
from paretofoil.core.command import CommandSpace, Objective
from paretofoil.core.errors import InvalidInput
from paretofoil.envs import catalogue
from paretofoil.envs.batch import GymnasiumBatch
from paretofoil.envs.checker import EnvironmentCheckError, check_environment, replay_difference

PAPER = [
    "branch-path", "collect-two", "reward-line", "deep-sea-treasure", "breakable-bottles", "resource-gathering",
    "fruit-tree", "fruit-tree-6", "minecart", "minecart-stochastic",
]  # fmt: skip
OTHERS = [
    "water-reservoir", "water-reservoir-stochastic", *(f"walkroom-{n}" for n in range(2, 10)), "three-tree",
    "four-room", "mountain-car", "lunar-lander", "reacher",
]  # fmt: skip


@pytest.fixture(autouse=True)
def _own_catalogue(monkeypatch):
    monkeypatch.setattr(catalogue, "_entries", dict(catalogue._entries))


class TwoDoors(gymnasium.Env):
    """A user's environment: the left door pays gold at once, the right one silver after a corridor."""

    observation_space = gymnasium.spaces.Discrete(3)
    action_space = gymnasium.spaces.Discrete(2)
    reward_space = gymnasium.spaces.Box(0.0, 5.0, (2,))

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.room = 0
        return self.room, {}

    def step(self, action):
        if self.room == 0 and action == 0:
            return self.room, np.array([1.0, 0.0]), True, False, {}
        self.room += 1
        return self.room, np.array([0.0, 5.0 * (self.room == 2)]), self.room == 2, False, {}


@pytest.fixture
def two_doors():
    gymnasium.register("TwoDoors-v0", entry_point=TwoDoors, max_episode_steps=10)
    yield "TwoDoors-v0"
    del gymnasium.registry["TwoDoors-v0"]


def test_the_catalogue_holds_the_papers_environments():
    assert envs.names() == PAPER + OTHERS


@pytest.mark.parametrize("name", PAPER)
@pytest.mark.parametrize("steps", [100, pytest.param(600, marks=pytest.mark.long)])
def test_every_environment_passes_the_checker(name, steps):
    check_environment(name, steps=20 if (name, steps) == ("minecart-stochastic", 100) else steps)


@pytest.mark.parametrize("name", PAPER)
def test_every_entry_says_what_a_user_needs_to_know(name):
    entry = envs.entry(name)
    assert entry.description.endswith(".")
    assert all(action == action.lower() for action in entry.actions)
    assert len(entry.reference) == len(entry.objectives)
    assert not {o.name for o in entry.objectives} & set(entry.actions)
    assert all(np.isfinite(o.limits).all() for o in entry.objectives)
    assert all(o.limits[1] <= 0 if o.cost else o.limits[0] >= 0 for o in entry.objectives)
    assert all(o.limits in ((-1, 0), (0, 1)) for o in entry.objectives if o.probability)
    assert len(entry.phrases) == len(entry.actions)
    assert not any(phrase.startswith("chosen") for phrase in entry.phrases)
    env = envs.make(name)
    assert env.action_space.n == len(entry.actions)
    assert env.reward_space.shape == (len(entry.objectives),)
    assert envs.make_batch(name).stochastic == entry.stochastic


@pytest.mark.parametrize("name", ["deep-see-treasure", "mincart", "nothing like it", ""])
def test_an_unknown_name_lists_the_known_ones(name):
    with pytest.raises(InvalidInput, match=r"expected an environment among branch-path, .*, got") as error:
        envs.entry(name)
    close = {"deep-see-treasure": "did you mean deep-sea-treasure?", "mincart": "did you mean minecart?"}
    assert close.get(name, "got") in str(error.value)


@pytest.mark.parametrize("name", PAPER)
def test_bad_actions_and_finished_episodes_are_errors(name):
    env = envs.make(name)
    with pytest.raises(InvalidInput, match="expected a running episode"):
        env.step(0)
    _, info = env.reset(seed=0)
    with pytest.raises(InvalidInput, match=f"expected an action number from 0 to {len(env.entry.actions) - 1}, got 9"):
        env.step(9)
    for action in np.flatnonzero(~info["action_mask"]):
        with pytest.raises(
            InvalidInput, match=rf"expected one of the valid actions .*, got {env.entry.actions[action]}"
        ):
            env.step(int(action))
    rng = np.random.default_rng(0)
    over = False
    while not over:
        _, _, terminated, truncated, info = env.step(rng.choice(np.flatnonzero(info["action_mask"])))
        over = terminated or truncated
    with pytest.raises(InvalidInput, match="expected a running episode"):
        env.step(int(info["action_mask"].argmax()))


def test_masks_of_deep_sea_treasure_keep_the_submarine_in_the_water():
    env = envs.make("deep-sea-treasure")
    _, info = env.reset(seed=0)
    assert info["action_mask"].tolist() == [False, True, False, True]
    for action in [3, 1]:
        *_, info = env.step(action)
    assert info["action_mask"].tolist() == [True, True, True, True]  # beside the first treasure, above the second


def test_masks_of_bottles_allow_a_pickup_at_the_source_with_a_free_hand():
    env = envs.make("breakable-bottles")
    masks = [env.reset(seed=0)[1]["action_mask"].tolist()]
    masks += [env.step(action)[4]["action_mask"].tolist() for action in [0, 0, 0, 0, 2, 2]]
    assert masks[0] == [True, False, False]
    assert masks[1] == [True, True, False]
    assert masks[4:] == [[False, True, True], [False, True, True], [False, True, False]]


def test_the_stochastic_minecart_repeats_an_episode_whatever_the_global_generator_does():
    def mined(seed):
        np.random.seed(None)  # noqa: NPY002 (the point of this test)
        env = envs.make("minecart-stochastic")
        env.reset(seed=seed)
        cart = env.unwrapped.cart
        cart.pos = env.unwrapped.mines[2].pos.copy()
        return env.step(0)[0][5:].tolist()

    assert mined(1) == mined(1)
    assert mined(1) != mined(2)


def test_float32_rewards_become_the_decimals_they_stand_for():
    env = envs.make("collect-two")
    env.reset(seed=0)
    *_, (_, reward, *_) = [env.step(action) for action in [0, 0, 0, 2, 2, 2, 1, 1, 1]]
    assert reward.tolist() == [0.0, 0.8, 0.0, 0.0]


def test_a_user_registers_an_environment_in_one_line(two_doors):
    envs.register(envs.describe(two_doors, name="two-doors"))
    assert "two-doors" in envs.names()
    check_environment("two-doors", steps=100)
    assert isinstance(envs.make_batch("two-doors"), GymnasiumBatch)
    seen = envs.make_batch("two-doors").reset(np.arange(3))
    assert seen.observations.tolist() == [[1, 0, 0]] * 3
    with pytest.raises(InvalidInput, match="expected a name that is not in the catalogue yet, got 'two-doors'"):
        envs.register(envs.describe(two_doors, name="two-doors"))


def test_a_user_names_objectives_and_state_and_gets_a_table_and_a_front(two_doors):
    from paretofoil.envs.front import known_front

    entry = replace(
        envs.describe(two_doors, name="two-doors"),
        objectives=(Objective("gold"), Objective("silver")),
        actions=("left", "right"),
        stochastic=False,
        state=("room",),
    )
    check_environment(entry, steps=100)
    assert known_front(entry).tolist() == [[0, 5], [1, 0]]
    agent = Agent("mine", lambda s, c: np.zeros((len(s), 2)), entry, CommandSpace([0, 0], [5, 5]), [[1, 0]])
    assert agent.phrases == ("chosen left", "chosen right"), "of the names that the user gave"


def pays(monkeypatch, gold):
    """Let the right door also pay what a function of the environment returns."""
    step = TwoDoors.step

    def paying(self, action):
        room, reward, *rest = step(self, action)
        return room, reward + np.array([gold(self), 0.0]), *rest

    monkeypatch.setattr(TwoDoors, "step", paying)


def count_steps(env):
    """Return how many steps an environment made since it was made."""
    env.steps = getattr(env, "steps", 0) + 1
    return env.steps


@pytest.mark.parametrize(
    ("gold", "state", "words"),
    [
        (lambda env: 0.0, ("room",), ""),
        (lambda env: np.random.default_rng().random(), ("room",), "differs from the table of its states"),
        (lambda env: np.random.default_rng().random(), (), "the same actions and the same seeds differ"),
        (lambda env: env.np_random.random(), (), "the same actions and other seeds differ"),
        (count_steps, ("room",), "differs from the table of its states"),
    ],
)
def test_replaying_finds_chance_and_memory_that_an_entry_does_not_name(two_doors, monkeypatch, gold, state, words):
    pays(monkeypatch, gold)
    entry = replace(envs.describe(two_doors, name="doors"), actions=("left", "right"), stochastic=False, state=state)
    difference = replay_difference(entry)
    assert words in difference
    assert bool(words) == bool(difference)
    agent = Agent("mine", lambda s, c: np.zeros((len(s), 2)), entry, CommandSpace([0, 0], [5, 5]), [[1, 0]])
    if words:
        with pytest.raises(InvalidInput, match="expected an agent in a deterministic environment, got doors: "):
            pf.atlas(agent, samples=10)
    else:
        assert len(pf.atlas(agent, samples=10).outcomes[0].achieved) == 2


def test_the_checker_finds_a_mask_that_lies(two_doors):
    entry = replace(envs.describe(two_doors, name="liar"), mask=lambda env: np.array([True, env.room > 0]))
    with pytest.raises(EnvironmentCheckError, match="liar: expected the invalid action action 1 to change nothing"):
        check_environment(entry, steps=100)


def test_the_checker_finds_a_mask_that_lies_where_the_world_goes_on():
    entry = replace(envs.entry("minecart"), mask=lambda env: np.arange(6) != 1)
    with pytest.raises(EnvironmentCheckError, match="expected the invalid action left to change nothing, but it did"):
        check_environment(entry, steps=50)


def test_the_checker_finds_a_reward_outside_the_reward_space(two_doors, monkeypatch):
    monkeypatch.setattr(TwoDoors, "reward_space", gymnasium.spaces.Box(0.0, 2.0, (2,)))
    with pytest.raises(EnvironmentCheckError, match="expected rewards inside"):
        check_environment(envs.describe(two_doors), steps=100)


@pytest.mark.parametrize("encoded", [[1.0], [np.nan, 0.0, 0.0], ["a", "b", "c"], [[0.0, 0.0, 0.0]], 1.0])
def test_an_odd_observation_of_an_environment_is_named(two_doors, encoded):
    entry = replace(envs.describe(two_doors), encode=lambda raw: encoded)
    with pytest.raises(InvalidInput, match="expected the encoded observation of TwoDoors-v0 to "):
        GymnasiumBatch(entry, 5).reset(np.arange(1))


@pytest.mark.parametrize("reward", [1.0, [1.0], [1.0, np.nan], [1.0, 2j], ["a", "b"], None, np.array([1j, 0j])])
def test_an_odd_reward_is_named(two_doors, monkeypatch, reward):
    monkeypatch.setattr(TwoDoors, "step", lambda self, action: (0, reward, False, False, {}))
    env = envs.make(catalogue.outline(two_doors))
    env.reset(seed=0)
    with pytest.raises(InvalidInput, match=r"expected the reward of TwoDoors-v0 to (be|have 2 numbers, got 1)"):
        env.step(0)


@pytest.mark.parametrize("chance", [0.0, 0.02, 1.0])
def test_chance_is_noticed_by_replaying(two_doors, monkeypatch, chance):
    def step(self, action):
        lucky = self.np_random.random() < chance
        return 0, np.array([float(lucky and self.np_random.random()), 0.0]), False, False, {}

    monkeypatch.setattr(TwoDoors, "step", step)
    assert envs.describe(two_doors).stochastic == (chance > 0)


def test_the_checker_finds_a_seed_that_is_ignored(two_doors, monkeypatch):
    noise = np.random.default_rng()
    step = TwoDoors.step
    monkeypatch.setattr(TwoDoors, "step", lambda self, a: (step(self, a)[0], noise.random(2), *step(self, a)[2:]))
    with pytest.raises(EnvironmentCheckError, match="expected the same seed and actions to give the same episode"):
        check_environment(envs.describe(two_doors), steps=100)


@pytest.mark.parametrize(("gym_id", "words"), [
    ("CartPole-v1", "expected CartPole-v1 to have a vector reward_space"),
    ("NoSuchThing-v0", "expected the id of a Gymnasium environment, got 'NoSuchThing-v0'"),
    ("no_such_thing:Thing-v0", "expected an environment of an allowed module, got no_such_thing:Thing-v0"),
    ("mo_gymnasium:fruit-tree-v0", "expected max_steps=..., because mo_gymnasium:fruit-tree-v0 has no step limit"),
])  # fmt: skip
def test_what_cannot_be_described_is_an_error(gym_id, words):
    with pytest.raises(InvalidInput, match=words):
        envs.describe(gym_id)


def test_any_environment_of_mo_gymnasium_with_discrete_actions_can_be_described():
    entry = envs.describe("mo_gymnasium:breakable-bottles-v0", size=6)
    check_environment(entry, steps=150)
    assert entry.observation_size == 6 + 3 + 3 + 4


def test_a_contradictory_entry_is_an_error():
    entry = envs.entry("branch-path")
    for change, words in [
        ({"actions": ("up", "up")}, "at least one action, each with its own name"),
        ({"max_steps": 0}, "a step limit of at least 1"),
        ({"phrases": ("gone up",)}, "a phrase for each of 4 actions"),
        ({"idle": 4}, "an idle action from 0 to 3"),
        ({"reference": (0.0,)}, "a reference point of 2 numbers"),
        ({"name": ""}, "a name and a Gymnasium id"),
    ]:
        with pytest.raises(InvalidInput, match=words):
            replace(entry, **change)


def test_importing_the_catalogue_imports_nothing_heavy():
    heavy = ["torch", "matplotlib", "mo_gymnasium", "pygame", "PIL"]
    code = f"import sys, paretofoil.envs; print([m for m in {heavy} if m in sys.modules])"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(("gym_id", "name"), [
    ("deep-sea-treasure-concave-v0", "deep-sea-treasure"), ("fruit-tree-v0", "fruit-tree-6"),
    ("four-room-v0", "four-room"), ("mo-mountaincar-timespeed-v0", "mountain-car"),
    ("mo_gymnasium:minecart-v0", "minecart-stochastic"), ("deep-sea-treasure-v0", None), ("water-reservoir-v0", None),
])  # fmt: skip
def test_the_catalogues_fast_form_of_an_id_has_the_same_arguments(gym_id, name):
    pytest.importorskip("mo_gymnasium")  # registers the ids
    found = catalogue.fast_form(gym_id)
    assert (found and found.name) == name
