"""Studies: resumable batches of questions over agents and searches, whose rows are the same in every run."""

from paretofoil.study.case import COMPARISON, STRESS, Case, CaseRule, enumerate_cases
from paretofoil.study.runner import StudyProgress, resume_study, run_study
from paretofoil.study.store import Row, Run, read_about, read_rows, read_runs
from paretofoil.study.study import Study, make_study

__all__ = [
    "COMPARISON",
    "STRESS",
    "Case",
    "CaseRule",
    "Row",
    "Run",
    "Study",
    "StudyProgress",
    "enumerate_cases",
    "make_study",
    "read_about",
    "read_rows",
    "read_runs",
    "resume_study",
    "run_study",
]
