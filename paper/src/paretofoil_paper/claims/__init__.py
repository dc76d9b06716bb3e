"""What the paper claims in words, tested: sparse changes, the budget, gradients, the horizon, under-trained agents."""

from paretofoil_paper.audit import proof_rows
from paretofoil_paper.claims.budget import as_run_budget_rows, budget_in_words, budget_rows, budget_table
from paretofoil_paper.claims.gradient import gradient_in_words, gradient_table, slopes
from paretofoil_paper.claims.horizon import horizon_in_words, horizon_table, pairs
from paretofoil_paper.claims.sparsity import in_papers_box, in_reachable_box, sparsity_in_words, sparsity_table
from paretofoil_paper.claims.undertrained import early_in_words, early_table, question_both
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import AS_RUN, REACHABLE_PROTOCOL
from paretofoil_paper.report import Report
from paretofoil_paper.stress import stress_rows


def reproduce_claims(plan: Plan) -> Report:
    """Claim by claim: what the paper says, how it was tested, and what came out."""
    rows = stress_rows(plan) + proof_rows(plan)
    report = Report("What the paper claims in words, tested")
    report.say(
        "Words in bold are quoted from the paper; behind them stands what the rows beside this page say. "
        f"{REACHABLE_PROTOCOL} What is asked in the paper's box, of agents of realised returns, says so."
    )
    papers, reachable = in_papers_box(plan), in_reachable_box(plan, rows)
    report.say("## How many entries change", sparsity_in_words(papers, reachable))
    report.add(sparsity_table(plan, "the paper's box", papers, (AS_RUN, "exact")))
    report.add(sparsity_table(plan, "the box of what is reachable", reachable, ("cf-zoo", "exact")))
    as_run, as_told = as_run_budget_rows(plan), budget_rows(plan, rows)
    report.say("## The budget", budget_in_words(as_run, as_told))
    report.add(budget_table(as_run, "as run, in the paper's box"))
    report.add(budget_table(as_told, "as told, in the box of what is reachable"))
    found = {row.case for row in rows if row.search == "local-zoo" and row.found}
    measured = slopes(plan, rows)
    report.say("## Gradient and counterfactual", gradient_in_words(measured))
    report.add(gradient_table(plan, measured, found))
    timed, both = pairs(plan), question_both(plan)
    if timed:
        report.say("## Return and horizon", horizon_in_words(timed)).add(horizon_table(timed))
    if both:
        report.say("## Early and trained", early_in_words(both)).add(early_table(both))
    return report
