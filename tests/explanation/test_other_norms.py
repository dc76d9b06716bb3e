"""An answer whose proof in l2 is open has the proven answer in linf beside it."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
from answers import certificate

import paretofoil as pf
from paretofoil.core.answer import Answer, Status
from paretofoil.core.command import CommandSpace
from paretofoil.core.options import NO_LIMITS, Limits, Options
from paretofoil.core.question import QuestionBatch
from paretofoil.core.search import Finding, Search
from paretofoil.search import Exact

SPACE = CommandSpace(np.zeros(2), np.ones(2))


@dataclass(frozen=True)
class OpenInL2(Search):
    """Prove nothing in l2, and everything in linf unless `linf` is "gap"."""

    linf: Any = "optimal"
    calls: list[tuple[str, Limits]] = field(default_factory=list)
    name: str = "open"
    seed: int = 0
    proves = True

    def run(self, batch: QuestionBatch, limits: Limits = NO_LIMITS) -> list[Finding]:
        self.calls.append((batch.norm, limits))
        batch.margins(np.zeros(40, dtype=int), np.zeros((40, 2)), "scan")
        status = {"l2": "gap", "linf": self.linf}.get(batch.norm, "gap")
        proof = certificate(status, 0.1, 0.2, norm=batch.norm)
        return [Finding(np.array([0.2, 0.2]), certificate=proof) for _ in batch.questions]


def explain(search: Search, **settings: Any) -> Answer:
    def scores(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
        return np.stack([np.ones(len(commands)), commands.sum(axis=1) - 0.3], axis=1)

    return pf.explain(scores, state=[0.0], command=[0.5, 0.5], foil=1, space=SPACE, search=search, **settings)


def test_an_open_answer_has_the_proven_one_in_linf_within_the_same_limits() -> None:
    search = OpenInL2()
    answer = explain(search, limits=Limits(seconds=10.0, queries=1000))
    assert answer.status is Status.FOUND
    [other] = answer.other_norms
    assert (other.status, other.question.norm) == (Status.PROVEN_CLOSEST, "linf")
    assert other.quoted is not None
    assert other.quoted.distance == pytest.approx(0.2)
    assert "linf" in answer.paragraph()
    (_, first), (_, second) = search.calls
    assert (first.seconds, second.seconds) == (9.0, 1.0)
    assert second.queries == 1000 - (answer.total_queries - answer.search.queries["linf"])
    assert answer.search.queries["linf"] == other.total_queries
    read = Answer.from_json(answer.to_json())
    assert read.paragraph() == answer.paragraph()
    assert [a.question.norm for a in read.other_norms] == ["linf"]
    older = {name: value for name, value in answer.to_dict().items() if name != "other_norms"}
    assert Answer.from_dict(older).other_norms == ()


@pytest.mark.parametrize(
    ("search", "settings", "norms"),
    [
        (OpenInL2(linf="gap"), {}, ["l2", "linf"]),
        (OpenInL2(), {"options": Options(norm="l1")}, ["l1"]),
        (OpenInL2(), {"limits": Limits(queries=20)}, ["l2"]),
    ],
    ids=["linf-is-open-too", "another-norm", "no-queries-are-left"],
)
def test_nothing_is_beside_it_otherwise(search: OpenInL2, settings: dict[str, Any], norms: list[str]) -> None:
    assert explain(search, **settings).other_norms == ()
    assert [norm for norm, _ in search.calls] == norms


def test_exact_offers_it_where_boxes_run_out() -> None:
    agent = pf.load_agent("fruit-tree")
    decision = pf.rollout(agent, agent.front[36])[1]
    foil = next(action for action in decision.valid_actions if action != decision.action)
    answer = pf.explain(agent, decision, foil, search=Exact(max_boxes=500), options=Options(attainable=False))
    assert answer.proof is not None
    assert answer.proof.status == "gap"
    [other] = answer.other_norms
    assert other.question.step == decision.step
    assert other.proof is not None
    assert other.live is not None
    assert pf.verify_certificate(other.live.question, other.proof, samples=10_000).holds
