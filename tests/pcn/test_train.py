"""Training: it finds whole fronts, is reproducible, and can be interrupted."""

from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tiers import long_except

from paretofoil.core.errors import InvalidInput
from paretofoil.core.threads import one_thread
from paretofoil.envs.batch import make_batch
from paretofoil.envs.catalogue import entry
from paretofoil.envs.episode import evaluate
from paretofoil.pcn.config import PLAIN, PRESETS, REALISED, TrainConfig
from paretofoil.pcn.explore import POLICY, RANDOM, plain_plans
from paretofoil.pcn.network import Learner
from paretofoil.pcn.train import Trainer, TrainResult

SHORT = TrainConfig(seed=3, steps=2_500, episodes=32, warmup=64, updates=5, polish_rounds=2, polish_updates=30)


def train(name: str, config: TrainConfig) -> TrainResult:
    return Trainer(partial(make_batch, name), config, np.array(entry(name).reference)).run()


def assert_equal_results(one: TrainResult, other: TrainResult) -> None:
    for name, array in one.policy.arrays().items():
        np.testing.assert_array_equal(array, other.policy.arrays()[name])
    for name in ("front", "achieved", "low", "high"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.steps == other.steps
    without_times = [[replace(line, seconds=0.0) for line in result.log] for result in (one, other)]
    assert without_times[0] == without_times[1]


def front(result: TrainResult) -> set[tuple[float, ...]]:
    return {tuple(point) for point in result.front.round(6).tolist()}


@pytest.mark.parametrize("seed", long_except([0, 1], (1,)))
def test_reward_line_is_learned_completely(seed):
    config = replace(PRESETS["reward-line"], seed=seed, steps=15_000, updates=30)
    result = train("reward-line", config)
    assert front(result) == {(round(1 - c / 10, 6), c / 10) for c in range(11)}
    assert result.reached.all()
    assert result.finished


def test_branch_path_is_learned_completely():
    result = train("branch-path", replace(PRESETS["branch-path"], steps=15_000, updates=20))
    assert front(result) == {(3, 1), (2, 2), (1, 3)}
    assert result.reached.all()
    np.testing.assert_array_equal(result.low, [0, 0])


@pytest.mark.long
def test_expected_returns_of_resource_gathering_hold_no_luck():
    config = replace(PRESETS["resource-gathering"], steps=2_000_000, rollouts=300, updates=20)
    result = train("resource-gathering", config)
    expected = np.array([[-0.1, 0.9, 0.9], [0, 0, 1], [0, 1, 0]])
    assert len(result.front) == 3
    order = np.lexsort(result.front.T)
    np.testing.assert_allclose(result.front[order], expected[np.lexsort(expected.T)], atol=0.03)
    assert result.reached.all()
    assert (result.truncated == 0).all()


def test_realised_returns_are_an_option_and_collect_luck():
    config = replace(SHORT, returns="realised", steps=20_000, episode_steps=16)
    result = train("resource-gathering", config)
    assert np.isin(result.front, (-1, 0, 1)).all()


PLAIN_SHORT = replace(PLAIN["reward-line"], steps=30_000, warmup=500, updates=10, batch_size=128, hidden=32)


def test_realised_returns_of_bottles_are_the_authors_one_lucky_point():
    result = train("breakable-bottles", replace(REALISED["breakable-bottles"], steps=30_000, polish_rounds=1))
    assert result.front.tolist() == [[-10, 50, 0]]


@pytest.mark.long
def test_plain_exploration_finds_the_front_of_reward_line_in_its_archive():
    result = train("reward-line", PLAIN_SHORT)
    assert {tuple(p) for p in result.front.round(6).tolist()} == {(round(1 - c / 10, 6), c / 10) for c in range(11)}
    assert {line.phase for line in result.log} == {"explore"}


def test_plain_exploration_never_replays_a_plan(monkeypatch):
    ran = []
    monkeypatch.setattr(
        Trainer, "_keep", lambda self, plans, keep=Trainer._keep: (ran.append(plans), keep(self, plans))
    )
    train("reward-line", replace(PLAIN_SHORT, steps=15_000))
    warmup, *later = ran
    assert (warmup.actions == RANDOM).all()
    assert not warmup.preferences.any()
    assert len(later) > 5
    for plans in later:
        assert (plans.actions == POLICY).all()
        assert len(plans) == 10
        assert len(np.unique(plans.commands, axis=0)) == 1


def test_a_plain_command_raises_one_objective_of_a_front_point_by_at_most_its_deviation():
    trainer = Trainer(partial(make_batch, "reward-line"), PLAIN_SHORT)
    trainer.explore()
    front, rng = trainer.replay.front_commands, np.random.default_rng(0)
    deviation = np.std([d.label for d in trainer.replay.demonstrations], axis=0)
    largest = np.zeros(2)
    for _ in range(200):
        [command] = np.unique(plain_plans(PLAIN_SHORT, trainer.replay, trainer.env, rng).commands, axis=0)
        raised = command - front
        nearest = raised[((raised >= 0) & (raised <= deviation)).all(axis=1) & ((raised == 0).sum(axis=1) == 1)]
        assert len(nearest), (command, front)
        largest = np.maximum(largest, nearest.min(axis=0))
    assert (largest > 0).all()


def test_plain_exploration_learns_from_all_episodes_alike_and_ours_favours_the_front(monkeypatch):
    seen = []
    monkeypatch.setattr(
        Learner, "fit", lambda self, samples, chances, *rest: seen.append((samples.owners, chances)) or 0.0
    )
    for config in (PLAIN_SHORT, replace(SHORT, front_share=1.0)):
        trainer = Trainer(partial(make_batch, "branch-path"), config)
        trainer.explore()
        owners, chances = seen.pop()
        shares = np.bincount(owners, weights=chances)
        assert len(trainer.replay.front) < len(trainer.replay)
        favoured = len(trainer.replay) if config is PLAIN_SHORT else len(trainer.replay.front)
        assert shares[shares > 0] == pytest.approx(np.full(favoured, 1 / favoured))


def test_the_learning_rate_falls_to_its_share_after_four_fifths_of_the_exploration():
    trainer = Trainer(partial(make_batch, "reward-line"), replace(SHORT, steps=1000, cooling=0.1, learning_rate=1.0))
    rates = []
    for trainer.steps in (0, 400, 800, 1000):
        rates.append(trainer._rate())
    assert rates == pytest.approx([1.0, 0.55, 0.1, 0.1])


def test_one_seed_gives_one_result():
    assert_equal_results(train("deep-sea-treasure", SHORT), train("deep-sea-treasure", SHORT))
    one, other = (train("deep-sea-treasure", replace(SHORT, seed=seed)).policy.arrays() for seed in (3, 4))
    assert not np.array_equal(one["state_weight"], other["state_weight"])


@pytest.mark.parametrize(
    ("name", "config"),
    [
        ("deep-sea-treasure", SHORT),
        ("resource-gathering", replace(SHORT, episode_steps=16, steps=60_000, rollouts=50)),
        ("reward-line", replace(PLAIN["reward-line"], steps=15_000, warmup=500, updates=5, hidden=32)),
        ("minecart", replace(SHORT, episode_steps=30, warmup=2000, steps=62_000, standardise=True)),
    ],
)
def test_a_resumed_training_equals_an_uninterrupted_one(name, config, tmp_path):
    make_env, path = partial(make_batch, name), tmp_path / "checkpoint.safetensors"
    whole = Trainer(make_env, config).run()
    trainer = Trainer(make_env, config)
    with one_thread():  # as `run` does: threads that share a sum round it otherwise
        while not trainer.finished:  # a new trainer for every single iteration
            line = trainer.polish() if trainer.explored else trainer.explore()
            trainer.log += [line] if line else []
            trainer.save(path)
            trainer = Trainer.resume(path, make_env)
    assert_equal_results(trainer.result(), whole)


def test_a_request_to_stop_saves_and_returns_what_there_is(tmp_path):
    import signal

    path = tmp_path / "checkpoint.safetensors"
    config = replace(SHORT, steps=10_000_000, report_every=2)
    trainer = Trainer(partial(make_batch, "deep-sea-treasure"), config)
    result = trainer.run(progress=lambda _: signal.raise_signal(signal.SIGINT), checkpoint=path)
    assert not result.finished
    assert trainer.iteration == 2
    assert Trainer.resume(path, partial(make_batch, "deep-sea-treasure")).iteration == 2


@pytest.mark.parametrize("content", [b"", b"not a checkpoint", b"\x80\x04pickle"])
def test_a_file_that_is_no_checkpoint_is_refused(content: bytes, tmp_path: Path):
    path = tmp_path / "checkpoint.safetensors"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="checkpoint of a training"):
        Trainer.resume(path, partial(make_batch, "branch-path"))


@pytest.mark.parametrize("told", ["minecart", ""])
def test_a_training_is_resumed_in_its_own_environment_alone(told: str, tmp_path: Path):
    path, config = tmp_path / "checkpoint.safetensors", replace(SHORT, episode_steps=30, steps=1)
    begun = Trainer(partial(make_batch, "minecart"), config, environment=told)  # earlier versions told no name
    begun.save(path)

    def resume(name: str) -> Trainer:
        return Trainer.resume(path, partial(make_batch, name), environment=name)

    again = resume("minecart")
    assert again.environment == "minecart"
    if not told:  # sizes are all that is known
        assert resume("minecart-stochastic").config == config
        refusal = r"states of 22 numbers, commands of 2, 4 actions, got states of 7 numbers, commands of 3, 6 actions"
    else:
        with pytest.raises(InvalidInput, match=r"to be a checkpoint of minecart-stochastic, got one of minecart$"):
            resume("minecart-stochastic")
        refusal = r"to be a checkpoint of deep-sea-treasure, got one of minecart$"
    with pytest.raises(InvalidInput, match=refusal):
        resume("deep-sea-treasure")


@pytest.mark.long
def test_the_front_is_reached_with_a_horizon():
    result = train("reward-line", replace(PRESETS["reward-line"], horizon=True, steps=15_000, updates=30))
    assert result.front.shape == (11, 3)
    assert result.reached.mean() > 0.9


def test_a_horizon_is_one_more_number_in_the_command():
    result = train("reward-line", replace(SHORT, horizon=True))
    assert result.policy.command_size == 3
    assert result.front.shape[1] == 3
    assert result.achieved.shape[1] == 2
    assert (result.front[:, 2] >= 4).all()  # four rows up at least


def test_evaluation_repeats_rollouts_only_where_chance_plays_a_part():
    result = train("resource-gathering", replace(SHORT, episode_steps=16, steps=60_000, rollouts=50))
    env = make_batch("resource-gathering")
    evaluation = evaluate(env, result.policy, result.front, rollouts=100)
    assert evaluation.achieved.shape == result.achieved.shape
    assert evaluation.commands.shape == result.front.shape


@pytest.mark.parametrize(
    "wrong",
    [
        {"steps": 0},
        {"front_share": 1.5},
        {"random_share": 0.9, "mutate_share": 0.9},
        {"returns": "lucky"},
        {"explore": "bold"},
        {"cooling": 2},
        {"gain": 0},
    ],
)
def test_bad_configurations_are_named(wrong):
    with pytest.raises(InvalidInput, match="expected"):
        TrainConfig(**wrong)


@pytest.mark.parametrize(("setting", "value", "words"), [
    ("steps", "many", "a whole number as steps, got 'many'"), ("steps", None, "a whole number as steps, got None"),
    ("steps", 0, "a whole number of at least 1 as steps, got 0"), ("steps", float("nan"), ".* as steps, got nan"),
    ("steps", 1j, "a whole number as steps, got 1j"), ("minutes", "ten", "a number or null as minutes, got 'ten'"),
    ("minutes", -1, "a number above 0.0 as minutes, got -1"),
    ("cooling", 2, "a number of at most 1.0 as cooling, got 2"),
    ("burst", -1, "a whole number of at least 0 as burst, got -1"),
    ("hidden", 10**9, "a whole number of at most 10000 as hidden, got 1000000000"),
    ("steps", 10**400, "a number of at most .* as steps, got a whole number of about 401 digits"),
    ("explore", "bold", "one of plain, plans as explore, got 'bold'"),
    ("seed", 1.5, "a seed that is a whole number, got 1.5"),
])  # fmt: skip
def test_an_odd_setting_is_named(setting, value, words):
    with pytest.raises(InvalidInput, match=f"expected {words}"):
        TrainConfig(**{setting: value})
