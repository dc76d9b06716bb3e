"""Check the power analysis of user studies on simulated participants: `python benchmarks/user_study_power.py`.

Simulates many studies of the planned size, with the planned effect in every condition and without any effect. Each is
evaluated as `paretofoil user-study report` does, but with 999 permutations.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from scipy.stats import binomtest

from paretofoil.web.user_study.analysis import UserStudyEvaluation, evaluate
from paretofoil.web.user_study.design import Effect, plan_sentences, plan_study
from paretofoil.web.user_study.plan import UserStudy, read_user_study

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from simulated_study import simulate

EXAMPLE = Path(__file__).parents[1] / "docs" / "user-study.json"


def run(
    study: UserStudy, effect: Effect, difference: float, participants: int, studies: int
) -> list[UserStudyEvaluation]:
    """Return the evaluations of simulated studies with this difference in every condition but the baseline."""
    accuracy = {c.name: effect.base + (difference if c is not study.baseline else 0.0) for c in study.conditions}
    plain = study.model_copy(update={"ratings": ()})  # they cost time and have no effect on accuracy
    found = []
    for number in range(studies):
        rng = np.random.default_rng([number, participants])
        replies = simulate(plain, accuracy, effect.spread, participants, rng)
        found.append(evaluate(plain, *replies, seed=number, resamples=999))
    return found


def share(name: str, hits: list[bool]) -> None:
    interval = binomtest(sum(hits), len(hits)).proportion_ci(method="wilson")
    print(f"{name}: {np.mean(hits):.3f} of {len(hits):,} ({interval.low:.3f} to {interval.high:.3f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--effect", type=float, default=0.2)
    parser.add_argument("--power", type=float, default=0.8)
    given = parser.parse_args()
    study, effect = read_user_study(EXAMPLE), Effect(difference=given.effect)
    plan = plan_study(study, effect, given.power)
    print(*plan_sentences(study, plan), sep="\n")
    for difference in (given.effect, 0.0):
        evaluations = run(study, effect, difference, plan.participants, given.studies)
        accuracy = [[one for one in e.comparisons if one.measure == "accuracy"] for e in evaluations]
        print(f"\nPlanted difference {difference:g}:")
        share("one comparison at the planned level finds it", [ones[0].p <= plan.level for ones in accuracy])
        share("one comparison after Holm finds it", [ones[0].adjusted_p <= 0.05 for ones in accuracy])
        share("one comparison at 0.05, uncorrected", [ones[0].p <= 0.05 for ones in accuracy])
        share("any comparison after Holm", [min(one.adjusted_p for one in ones) <= 0.05 for ones in accuracy])
        covered = [ones[0].difference.low <= difference <= ones[0].difference.high for ones in accuracy]
        share("the 95 % interval holds the planted difference", covered)


if __name__ == "__main__":
    main()
