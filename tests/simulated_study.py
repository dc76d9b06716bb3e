"""Simulated participants of a user study, whose truth is known."""

from collections.abc import Mapping

import numpy as np

from paretofoil.web.user_study.plan import CheckTask, UserStudy
from paretofoil.web.user_study.replies import Participant, Reply


def simulate(
    study: UserStudy, accuracy: Mapping[str, float], spread: float, num_participants: int, rng: np.random.Generator
) -> tuple[list[Participant], list[Reply]]:
    """Return participants and replies of a simulated study, in the study's own order of conditions.

    Args:
        study: The user study.
        accuracy: The mean accuracy in each condition.
        spread: Standard deviation of the accuracy between people of one condition.
        num_participants: Number of participants.
        rng: Random numbers.
    """
    people, replies = [], []
    for number in range(num_participants):
        person = Participant(number, f"{number:032x}", study.condition_of(number).name)
        mean = accuracy[person.condition]
        concentration = mean * (1 - mean) / spread**2 - 1 if spread else 0.0
        ability = rng.beta(mean * concentration, (1 - mean) * concentration) if spread else mean
        people.append(person)
        for position, task in enumerate(study.tasks_of(number)):
            check = isinstance(task, CheckTask)
            points = (
                {} if check else {r.name: int(rng.integers(1, r.points + 1)) for r in study.ratings_of(number, "task")}
            )
            seconds, correct = float(rng.lognormal(3.0, 0.5)), check or bool(rng.random() < ability)
            reply = Reply(number, position, task.name, task.kind, "", "", "", correct, points, seconds, 0.0, 1)
            replies.append(reply)
        last = {r.name: int(rng.integers(1, r.points + 1)) for r in study.ratings_of(number, "end")}
        if last:
            replies.append(Reply(number, len(study.tasks), "end", "end", "", None, None, None, last, 9.0, 0.0, 1))
    return people, replies
