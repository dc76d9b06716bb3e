"""Tests of the claims in the paper's text: sparsity, budget, gradients, horizon, training."""

from paretofoil_paper.audit import proof_rows
from paretofoil_paper.claims.budget import as_run_results, budget_table, describe_budgets, described_results
from paretofoil_paper.claims.gradient import describe_gradients, gradient_table, gradients
from paretofoil_paper.claims.horizon import describe_horizons, horizon_commands, horizon_table
from paretofoil_paper.claims.sparsity import describe_sparsity, in_paper_region, in_reachable_region, sparsity_table
from paretofoil_paper.claims.undertrained import compare_agents, describe_undertrained, undertrained_table
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, REACHABLE_PROTOCOL
from paretofoil_paper.report import Report
from paretofoil_paper.stress import stress_rows


def reproduce_claims(plan: Plan) -> Report:
    """Test the claims one by one: what the paper says, how it was tested, and the result."""
    rows = stress_rows(plan) + proof_rows(plan)
    report = Report("Tests of the claims in the paper's text")
    report.say(
        f"Words in bold are quoted from the paper. {REACHABLE_PROTOCOL} Results in the paper's search region, with "
        "agents trained on realised returns, are marked as such."
    )
    paper, reachable = in_paper_region(plan), in_reachable_region(plan, rows)
    report.say("## How many entries change", describe_sparsity(paper, reachable))
    report.add(sparsity_table(plan, "the paper's search region", paper, (AS_RUN, "exact")))
    report.add(sparsity_table(plan, "the reachable search region", reachable, ("cf-zoo", "exact")))
    as_run, described = as_run_results(plan), described_results(plan, rows)
    report.say("## The budget", describe_budgets(as_run, described))
    report.add(budget_table(as_run, "as run by the authors, in the paper's search region"))
    report.add(budget_table(described, "as described in the paper, in the reachable search region"))
    solved_locally = {row.case for row in rows if row.search == "local-zoo" and row.found}
    slopes = gradients(plan, rows)
    report.say("## Gradient and counterfactual", describe_gradients(slopes))
    report.add(gradient_table(plan, slopes, solved_locally))
    commands, pairs = horizon_commands(plan), compare_agents(plan)
    if commands:
        report.say("## Return and horizon", describe_horizons(commands)).add(horizon_table(commands))
    if pairs:
        report.say("## Undertrained agents", describe_undertrained(pairs)).add(undertrained_table(pairs))
    return report
