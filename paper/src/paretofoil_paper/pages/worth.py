"""The page about the worth of an answer: what happens if it is issued, and how stable it is."""

from collections.abc import Sequence

import numpy as np

from paretofoil.study.table import text
from paretofoil_paper.attainable import (
    CLAIMED,
    CLAIMED_OF,
    AttainableAnswer,
    UnroundedAnswer,
    attainable_answers,
    attainable_figure,
    attainable_table,
    continuation_table,
    unrounded_answers,
)
from paretofoil_paper.audit import proof_rows
from paretofoil_paper.consequences import (
    SEARCHES,
    issued_answers,
    other_seed_answers,
    other_seed_table,
    outcomes_table,
    robustness_table,
)
from paretofoil_paper.influence import WIDE, StepInfluence, influence_tables, step_influences
from paretofoil_paper.issued import IssuedAnswer
from paretofoil_paper.measurements import share, share_and_interval
from paretofoil_paper.paper_tables import ENVIRONMENTS
from paretofoil_paper.plan import Plan
from paretofoil_paper.protocols import REACHABLE_PROTOCOL
from paretofoil_paper.report import Picture, Report, cells_of, pick
from paretofoil_paper.stability import TransferredAnswer, moves, moves_table, transfer_table, transferred_answers
from paretofoil_paper.stress import stress_rows

CAPTION = "Answers that deliver what they ask for, that have an attainable command, and that can end on the front"


def page(plan: Plan) -> Report:
    """Issue every answer of the stress test, search attainable commands, and ask other agents and other steps."""
    answers = [row for row in stress_rows(plan) + proof_rows(plan) if row.search in SEARCHES]
    exact = [row for row in answers if row.search == "exact"]
    solved = [row for row in exact if row.found]
    attainable, unrounded = attainable_answers(plan, solved), unrounded_answers(plan, solved)
    issued, transferred = issued_answers(plan, answers), transferred_answers(plan, solved)
    influences, other_seed = step_influences(plan), other_seed_answers(plan, exact)
    moved = moves_table(plan, moves(plan, exact))
    report = Report("What an answer is worth")
    report.find(*_delivery(attainable, unrounded), picture="attainable.png")
    report.find(_consequences([row for row in issued if row.search == "exact"]))
    report.find(*_stability(transferred, cells_of(moved)))
    report.find(*_influence(influences))
    report.say(
        f"{REACHABLE_PROTOCOL} The answers are those of the exact search to every case of the stress test. A *quoted* "
        "command is an answer in short numbers. Only the influence of the command, in the last section, is measured in "
        "the paper's search region."
    )
    table = attainable_table(plan, attainable, unrounded)
    report.say("## Is the request delivered?", _describe_attainable(attainable))
    kept = (
        *("environment", "answers", "quoted answer delivers [95 % CI]", "unrounded answer delivers [95 % CI]"),
        *("attainable command found [95 % CI]", "distance: quoted", "distance: unrounded", "distance: attainable"),
    )
    report.add(
        pick(table, kept, note=_attainable_note()),
        Picture.of(attainable_figure(plan, attainable), "attainable", CAPTION),
    )
    report.say("## Where does the episode end?", _describe_issued())
    outcomes = outcomes_table(plan, issued)
    columns = {name: name for name in ("environment", "answers", "ends on the front [95 % CI]", "cluster [95 % CI]")}
    columns |= {name: name for name in ("original: on the front", "ended by the limit")}
    report.add(pick(outcomes, columns, where=lambda cells: cells["search"] == "exact"))
    robustness = robustness_table(plan, issued)
    report.say("## Is the answer stable?", _describe_stability())
    transfer = transfer_table(plan, transferred)
    report.add(transfer, moved)
    report.say("## Does the command matter at all?", _describe_influence())
    scores, proofs = influence_tables(plan, influences)
    shown = ("environment", "steps", "proven active [95 % CI]", "proven inert [95 % CI]", "median share that changes")
    report.add(pick(proofs, (*shown, "Spearman: KL", "flip")))
    report.appendix += [table, continuation_table(plan, attainable), outcomes, robustness, scores, proofs]
    if other_seed:
        report.appendix.append(other_seed_table(plan, other_seed))
    return report


def _delivery(rows: Sequence[AttainableAnswer], unrounded: Sequence[UnroundedAnswer]) -> tuple[str, str]:
    quoted, exact = share(rows, lambda row: row.delivers), share(unrounded, lambda row: row.delivers)
    found, interval = share_and_interval(rows, lambda row: row.attainable)
    ratios = [row.attainable_distance / row.distance for row in rows if row.attainable_distance and row.distance]
    return (
        f"**{quoted.successes:,} of {quoted.cases:,} answers, quoted in short numbers, deliver what they ask for** "
        f"({quoted} %); unrounded, {exact.successes:,} do.",
        f"For {found} % of the answers (cluster {interval}), rollouts found a command that delivers what it asks "
        "for and makes the agent take the foil. Its distance is a median of "
        f"{float(np.median(ratios)) if ratios else 0.0:.2g} times that of the quoted command.",
    )


def _consequences(rows: Sequence[IssuedAnswer]) -> str:
    front, interval = share_and_interval(rows, lambda row: row.reaches_front)
    foil, original = share(rows, lambda row: row.takes_foil), share(rows, lambda row: row.original_reaches_front)
    return (
        f"**{foil.successes:,} of {foil.cases:,} answers make the agent take the foil, and {front} % of the episodes "
        f"then end on the front** (cluster {interval}), compared with "
        f"{100 * original.rate:.1f} % under the original command."
    )


def _stability(rows: Sequence[TransferredAnswer], moved: list[dict[str, object]]) -> tuple[str, str]:
    opened = [row for row in rows if row.open]
    flipped = 100 * sum(row.flipped for row in opened) / max(sum(row.open for row in opened), 1)
    every = share(opened, lambda row: row.flipped == row.open)
    step = ""
    if moved:
        last = moved[-1]
        step = (
            "If a foil has an answer at one step, it has one at the next step in "
            f"{last['answer at t + 1, too [95 % CI]']} % of {last['pairs of steps']:,} pairs of steps. The difference "
            "between their two changes of the command has a median of "
            f"{text(last['difference of the changes: median'])} times the length of the first change."
        )
    return (
        f"**On average, {flipped:.0f} % of the agents of five other seeds also take the foil under an answer.** In "
        f"{every} % of {every.cases:,} questions, all of them do.",
        step,
    )


def _influence(rows: Sequence[StepInfluence]) -> tuple[str, str]:
    active, inert = share(rows, lambda row: row.proven_active), share(rows, lambda row: row.inert)
    return (
        f"**At {active.successes:,} of {active.cases:,} steps, it is proven that some command changes the action** "
        f"({active} %).",
        f"At {inert.successes} steps, it is proven that none does. The other "
        f"{active.cases - active.successes - inert.successes} steps are undecided{_where_open(rows)}.",
    )


def _where_open(rows: Sequence[StepInfluence]) -> str:
    agents = dict.fromkeys(row.agent for row in rows if not row.proven_active and not row.inert)
    return f" ({', '.join(ENVIRONMENTS.get(name, name) for name in agents)})" if agents else ""


def _attainable_note() -> str:
    return (
        "Quoted: the answer in short numbers. Unrounded: the closest command. Distances are medians; those of "
        "attainable commands are over the answers for which one was found."
    )


def _describe_attainable(rows: Sequence[AttainableAnswer]) -> str:
    return (
        "A command is attainable if the agent takes the foil under it and the return of the whole episode differs from "
        "what the command asks for by at most 1 % of each objective's range. We tried the answer, larger changes in "
        "the same direction, the front, random commands and the outcomes of all these. If no attainable command was "
        "found, one may still exist. The authors' app only demands that the episode ends on the front. They state that "
        f"{CLAIMED} % of {CLAIMED_OF:,} answers do this, but did not publish the rows. By our reading of their rule, "
        f"{100 * share(rows, lambda row: row.continues_to_front).rate:.1f} % of our answers do."
    )


def _describe_issued() -> str:
    return (
        "Each quoted command is issued in the state of its decision, and the agent acts greedily to the end. The "
        "episode ends on the front if the scaled distance of its return from a point of the front is at most 1 %. The "
        "original command is issued in the same way. Branch-Path always ends by its step limit."
    )


def _describe_stability() -> str:
    return (
        "The first table issues the quoted commands to agents of other training seeds, in the environments where "
        "training takes seconds. The second compares the closest commands of successive steps. Robustness to noise is "
        "in the appendix."
    )


def _describe_influence() -> str:
    return (
        "The command is active at a step if it is proven that some commands of the search region change the action, "
        "and inert if it is proven that none does. The other steps are undecided after branch and bound with 3,000 "
        "boxes. The proof bounds the share of commands that change the action; we use the middle of the bounds. A dash "
        "means that the bounds are too far apart for this: the median of their differences is above "
        f"{WIDE:g}. KL and flip are the authors' scores of influence, from probes along fixed directions. Spearman's "
        "rank correlation compares them with the shares."
    )
