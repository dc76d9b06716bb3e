"""The fronts that the agents learned (paper, Figure "Pareto front recovered by the return-only PCN variant")."""

from paretofoil.envs.front import known_front
from paretofoil.show.front_figure import as_lines, figure_front
from paretofoil.study.table import Table
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import EXPECTED_RETURNS
from paretofoil_paper.report import Picture, Report


def reproduce_front(plan: Plan) -> Report:
    """Minecart's first, as in the paper, then the others'."""
    report = Report("The fronts that the agents learned")
    report.say(f"No box is searched here. {EXPECTED_RETURNS}")
    lines = []
    for environment in sorted(plan.agents, key=lambda name: name != "minecart"):
        agent = plan.load(environment)
        front = known_front(agent.environment)
        reached = None if agent.achieved is None else int(agent.reached().sum())
        known = None if front is None else len(front)
        lines.append((ENVIRONMENTS[environment], len(agent.front), reached, known, agent.provenance.get("hypervolume")))
        learned = "lines" if as_lines(agent) else "circles"
        caption = f"{ENVIRONMENTS[environment]}: {learned} are the learned front, crosses what greedy rollouts achieve"
        report.add(Picture.of(figure_front(agent), f"front-{environment}", caption))
    note = (
        "Reached: the greedy rollout returns the command itself; in stochastic environments the mean of many rollouts "
        "lies within three standard errors of it. Known: the size of the front by exhaustive search; nobody knows "
        "Minecart's. Resource-Gathering's is a single point that takes 18 steps; an agent that is trained on shorter "
        "episodes, as the shipped one is, has the classic three. Hypervolume: at the environment's reference point "
        "(`paretofoil envs NAME`)."
    )
    columns = ("environment", "learned points", "reached", "known points", "hypervolume")
    report.parts.insert(1, Table("Fronts", columns, tuple(lines), note))
    return report
