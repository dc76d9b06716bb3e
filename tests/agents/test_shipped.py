"""The shipped agents do what is said of them; the rollouts are run anew."""

import numpy as np
import pytest

from paretofoil.agents import load_agent
from paretofoil.agents.agent import rollouts
from paretofoil.agents.store import shipped_folder
from paretofoil.core.pareto import hypervolume, nondominated
from paretofoil.envs.episode import greedy, run_episodes
from paretofoil.envs.front import known_front
from paretofoil.pcn.config import TrainConfig

DETERMINISTIC = {
    "branch-path": 3, "collect-two": 12, "reward-line": 11, "deep-sea-treasure": 10, "fruit-tree": 128,
    "walkroom-2": 11, "three-tree": 14,
}  # fmt: skip
EIGHT = {*DETERMINISTIC, "minecart", "breakable-bottles", "resource-gathering"}
OTHERS = {"water-reservoir", "walkroom-3", "four-room", "mountain-car"}
LUCKY = {"breakable-bottles-realised": (-10, 50, 0), "resource-gathering-realised": (0, 1, 1)}
"""The authors' fronts where chance plays a part: what the luckiest episode realised."""


def mean_returns(name: str, repeats: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(F, d) mean returns under each front command, their standard errors, and (F,) how many runs hit the limit."""
    agent = load_agent(name)
    commands = np.repeat(agent.front, repeats, axis=0)
    seeds = np.arange(len(commands), dtype=np.uint64) + 10_000
    episodes = run_episodes(agent.batch_env(), greedy(agent.policy), commands, seeds)
    returns = episodes.returns.reshape(len(agent.front), repeats, -1)
    stopped = (~episodes.terminated).reshape(len(agent.front), repeats).sum(axis=1)
    return returns.mean(axis=1), returns.std(axis=1, ddof=1) / np.sqrt(repeats), stopped


def test_an_agent_is_shipped_for_each_of_the_eight_environments_and_for_some_others() -> None:
    folders = {path.name for path in shipped_folder().iterdir() if path.is_dir()}
    assert folders == EIGHT | {"deep-sea-treasure-early", "minecart-early"} | set(LUCKY) | OTHERS


def test_each_shipped_agent_is_well_under_a_megabyte() -> None:
    for folder in shipped_folder().iterdir():
        assert sum(file.stat().st_size for file in folder.iterdir()) < 700_000


@pytest.mark.parametrize(("name", "size"), DETERMINISTIC.items())
def test_the_whole_known_front_is_reached_exactly(name: str, size: int) -> None:
    agent, known = load_agent(name), np.asarray(known_front(name))
    assert len(known) == size
    achieved = np.stack([episode.achieved for episode in rollouts(agent, agent.front)])
    assert np.allclose(achieved, agent.front, atol=1e-6)
    assert np.allclose(np.unique(achieved.round(6), axis=0), np.unique(known.round(6), axis=0), atol=2e-6)


def test_minecart_reaches_its_front_of_22_points() -> None:
    agent = load_agent("minecart")
    achieved = np.stack([episode.achieved for episode in rollouts(agent, agent.front)])
    assert np.allclose(achieved, agent.front, atol=1e-6)
    assert len(nondominated(achieved)) == 22
    assert hypervolume(achieved, (-0.001, -0.001, -2)) >= 1.069


def test_four_room_reaches_four_of_the_seven_best_returns() -> None:
    """The seven best within 40 steps were found by trying all orders of the shapes."""
    best = np.array([[2, 3, 4], [2, 4, 3], [3, 2, 4], [3, 3, 3], [3, 4, 2], [4, 2, 3], [4, 3, 2]])
    agent = load_agent("four-room")
    achieved = np.stack([episode.achieved for episode in rollouts(agent, agent.front)])
    assert np.array_equal(achieved, agent.front)
    assert sum((achieved == point).all(axis=1).any() for point in best) == 4
    assert hypervolume(achieved, np.zeros(3)) >= 0.85 * hypervolume(best, np.zeros(3))


def test_mountain_car_arrives_early_or_gathers_speed() -> None:
    agent = load_agent("mountain-car")
    achieved = np.stack([episode.achieved for episode in rollouts(agent, agent.front)])
    assert len(nondominated(achieved)) == 75
    assert agent.reached().sum() == 101
    assert len(agent.front) == 102
    assert hypervolume(achieved, (-200, 0)) >= 6300


def test_resource_gathering_has_three_points_in_expectation() -> None:
    agent = load_agent("resource-gathering")
    mean, error, stopped = mean_returns("resource-gathering", 1000)
    truth = np.array([[0, 1, 0], [0, 0, 1], [-0.1, 0.9, 0.9]])
    assert len(agent.front) == 3
    for point in truth:
        assert (np.abs(mean - point) <= 4 * error + 1e-9).all(axis=1).any()
    assert not stopped.any()


def test_no_bottle_agent_wanders_to_the_step_limit() -> None:
    agent = load_agent("breakable-bottles")
    mean, error, stopped = mean_returns("breakable-bottles", 1000)
    assert not stopped.any()
    assert (np.abs(mean - agent.front) <= 4 * error + 0.3).all()


@pytest.mark.parametrize(("name", "point"), LUCKY.items())
def test_realised_returns_leave_one_lucky_point_which_is_reached_by_luck_alone(
    name: str, point: tuple[float, ...]
) -> None:
    agent = load_agent(name)
    assert agent.front.tolist() == [list(point)]
    assert agent.environment.max_steps == 100
    assert agent.provenance["config"]["episode_steps"] is None
    returns = np.stack([e.achieved for seed in range(40) for e in rollouts(agent, agent.front, seed=seed)])
    lucky = (np.abs(returns - point) < 1e-6).all(axis=1)
    assert lucky.any()
    assert not lucky.all()
    assert not agent.reached().any()  # on average it is not kept


def test_fronts_are_stored_in_the_order_of_their_first_objective() -> None:
    for folder in shipped_folder().iterdir():
        front = load_agent(folder).front.tolist()
        assert front == sorted(front)


def test_shipped_seeds_follow_the_stated_rule() -> None:
    """Seed 0 reaches every known front; Minecart's has the largest hypervolume of 0 to 3 (results/training.md)."""
    seeds = {folder.name: load_agent(folder).provenance["seed"] for folder in shipped_folder().iterdir()}
    assert seeds.pop("minecart") == 3
    assert set(seeds.values()) == {0}


def test_under_trained_agents_reach_less() -> None:
    for name in ("deep-sea-treasure", "minecart"):
        early, late = load_agent(f"{name}-early"), load_agent(name)
        assert early.reached().mean() < 0.6 < late.reached().mean()


def test_provenance_tells_how_to_make_each_agent_again() -> None:
    for folder in shipped_folder().iterdir():
        provenance = load_agent(folder).provenance
        assert {"seed", "steps", "config", "versions"} <= set(provenance)
        assert provenance["config"]["seed"] == provenance["seed"]
        assert TrainConfig(**provenance["config"]).seed == provenance["seed"]
