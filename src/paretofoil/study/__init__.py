"""Studies: many questions, asked so that a crash, a second machine or another order changes no row."""

from paretofoil.study.case import COMPARISON, STRESS, Case, CaseRule, enumerate_cases
from paretofoil.study.runner import Progress, resume_study, run_study
from paretofoil.study.store import Row, Run, read_about, read_rows, read_runs
from paretofoil.study.study import Study, make_study

__all__ = [
    "COMPARISON",
    "STRESS",
    "Case",
    "CaseRule",
    "Progress",
    "Row",
    "Run",
    "Study",
    "enumerate_cases",
    "make_study",
    "read_about",
    "read_rows",
    "read_runs",
    "resume_study",
    "run_study",
]
