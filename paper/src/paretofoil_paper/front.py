"""The learned fronts: how many points they have, and how many are reached."""

from paretofoil.envs.front import known_front
from paretofoil.study.table import Table
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan


def front_table(plan: Plan) -> Table:
    """Return how many points the agents learned, how many greedy rollouts reach, and how many are known."""
    lines = []
    for environment in plan.agents:
        agent = plan.load(environment)
        front = known_front(agent.environment)
        reached = None if agent.achieved is None else int(agent.reached().sum())
        known = None if front is None else len(front)
        lines.append((ENVIRONMENTS[environment], len(agent.front), reached, known, agent.provenance.get("hypervolume")))
    note = (
        "Reached: the return of the greedy rollout is the command; in stochastic environments the mean of many "
        "rollouts is within three standard errors of it. Known: size of the front by exhaustive search, which is not "
        "possible for Minecart. The front of Resource-Gathering is a single point that takes 18 steps; the shipped "
        "agent is trained on shorter episodes, for which the front has the well-known three points."
    )
    columns = ("environment", "learned points", "reached", "known points", "hypervolume")
    return Table("Fronts", columns, tuple(lines), note)
