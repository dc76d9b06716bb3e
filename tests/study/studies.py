"""Small studies for the tests: a random network in Branch-Path, without training or shipped files."""

import sqlite3
from pathlib import Path

import numpy as np
from policies import random_pcn

from paretofoil import envs
from paretofoil.agents import Agent, save_agent
from paretofoil.core.command import CommandSpace
from paretofoil.core.search import Search
from paretofoil.search import CFZoo, NearestFront
from paretofoil.study import CaseRule, Study, make_study

SMALL = {"cf-zoo": CFZoo(directions=60, max_queries=91), "nearest-front": NearestFront()}
FAST = {"nearest-front": NearestFront()}


def small_agent(seed: int = 0, name: str = "small") -> Agent:
    entry = envs.entry("branch-path")
    space = CommandSpace(np.zeros(2), np.full(2, 3.0), entry.objectives)
    front = np.array([[1.0, 3.0], [2.0, 2.0], [3.0, 1.0]])
    return Agent(name, random_pcn(seed, entry.observation_size, 2, 4), entry, space, front)


def saved_agent(folder: Path, seed: int = 0, name: str = "small") -> Path:
    return save_agent(small_agent(seed, name), folder / name)


def small_study(folder: Path, searches: dict[str, Search] | None = None, rule: CaseRule | None = None) -> Study:
    path = folder / "small"
    return make_study([path if path.is_dir() else saved_agent(folder)], searches or SMALL, rule or CaseRule())


def rows_without_timings(path: Path) -> list[tuple]:
    """Every byte of every row, but for the seconds."""
    query = """SELECT agent, search, front, step, foil, agent_hash, status, closest_distance, queries, answer
               FROM answer ORDER BY 1, 2, 3, 4, 5"""
    connection = sqlite3.connect(path)
    try:
        return connection.execute(query).fetchall()
    finally:
        connection.close()
