"""The learned fronts (paper, Figure "Pareto front recovered by the return-only PCN variant")."""

from paretofoil.envs.front import known_front
from paretofoil.show.front_figure import as_lines, figure_front
from paretofoil.study.table import Table
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import EXPECTED_RETURNS
from paretofoil_paper.report import Picture, Report


def reproduce_front(plan: Plan) -> Report:
    """Draw the front of Minecart first, as in the paper, then the others."""
    report = Report("Learned fronts")
    lines = []
    for environment in sorted(plan.agents, key=lambda name: name != "minecart"):
        agent = plan.load(environment)
        front = known_front(agent.environment)
        reached = None if agent.achieved is None else int(agent.reached().sum())
        known = None if front is None else len(front)
        lines.append((ENVIRONMENTS[environment], len(agent.front), reached, known, agent.provenance.get("hypervolume")))
        markers = "lines" if as_lines(agent) else "circles"
        caption = f"{ENVIRONMENTS[environment]}: learned front ({markers}) and returns of greedy rollouts (crosses)"
        report.add(Picture.of(figure_front(agent), f"front-{environment}", caption))
    note = (
        "Reached: the return of the greedy rollout is the command; in stochastic environments the mean of many "
        "rollouts is within three standard errors of it. Known: size of the front by exhaustive search, which is not "
        "possible for Minecart. The front of Resource-Gathering is a single point that takes 18 steps; the shipped "
        "agent is trained on shorter episodes, for which the front has the well-known three points. Hypervolume: at "
        "the environment's reference point (`paretofoil envs NAME`)."
    )
    columns = ("environment", "learned points", "reached", "known points", "hypervolume")
    table = Table("Fronts", columns, tuple(lines), note)
    report.parts[:0] = [_finding(table), f"This page does not search for commands. {EXPECTED_RETURNS}", table]
    return report


def _finding(table: Table) -> str:
    """Count the environments in which the learned front is complete and reached."""
    lines = [dict(zip(table.columns, line, strict=True)) for line in table.rows]
    known = [line for line in lines if line["known points"] is not None]
    complete = sum(line["learned points"] == line["known points"] for line in known)
    reached = sum(line["reached"] == line["learned points"] for line in lines)
    return (
        f"In {complete} of {len(known)} environments with a known front the agent learned as many points as the front "
        f"has; in {reached} of {len(lines)} environments greedy rollouts reach every learned point."
    )
