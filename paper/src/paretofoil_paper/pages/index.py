"""The index: every finding in one sentence, with its figure and page."""

from collections.abc import Mapping

from paretofoil_paper.report import Report

TITLE = "Results"
INTRODUCTION = (
    "The paper's experiments with our agents, and what we add to them. Each finding is a sentence with its number and "
    "interval; its page has the table and how it was measured. Intervals are 95 %: Wilson's after a rate, and a "
    "cluster bootstrap where *cluster* stands before it. Two search regions occur: the *paper's*, which its authors "
    "set by hand, and the *reachable* one, the returns that are still possible from a state."
)
REPEAT = (
    "`make results` writes all pages but [agents](agents.md), which `make seeds` writes; both resume. "
    "`paretofoil reproduce all --recorded --out paper/results` writes every page again from the recorded rows, and a "
    "test compares them. Tables are in `tables/` (CSV; those of the pages also JSON and LaTeX), among them an appendix "
    "of all tables that are too long for a page (`tables/appendix-*.csv`). All answers are in `rows/` (Parquet). The "
    "benchmarks of this library have [pages of their own](../../benchmarks/results/README.md)."
)


def index(pages: Mapping[str, Report]) -> Report:
    """Return the index of pages by name."""
    report = Report(TITLE).say(INTRODUCTION)
    for name, page in pages.items():
        report.say(f"## [{page.title}]({name}.md)")
        report.say("\n".join(f"- {finding.sentence}" for finding in page.findings))
        pictures = [finding.picture for finding in page.findings if finding.picture]
        report.say(*(f"[![{page.title}](figures/{picture})]({name}.md)" for picture in pictures))
    return report.say("## How to repeat the measurements", REPEAT)
