"""Agents of one's own, as `paretofoil serve slow_agent:patient` takes them: black boxes that take their time."""

import time
from dataclasses import replace

import numpy as np

import paretofoil as pf

_quick = pf.load_agent("deep-sea-treasure")
SEARCHED_IN_BATCHES = 8


def _slowly(states: np.ndarray, commands: np.ndarray) -> np.ndarray:
    if len(commands) > SEARCHED_IN_BATCHES:  # rollouts ask about one at a time
        time.sleep(0.5)
    return _quick.policy.log_probs(states, commands)


patient = replace(_quick, name="patient", policy=_slowly)


def blunt() -> pf.Agent:
    """The same agent, quick, and with its inside hidden."""
    return replace(_quick, name="blunt", policy=_quick.policy.log_probs)
