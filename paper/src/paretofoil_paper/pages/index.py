"""The index: every finding in one sentence, with its figure and page."""

from collections.abc import Mapping

from paretofoil_paper.report import Report

TITLE = "Results"
INTRODUCTION = (
    "We repeated the paper's experiments with our own agents, and added experiments. The headings link to the pages "
    "that have the tables and say how each result was measured; [terms](#terms) are explained below. All intervals "
    "are 95 % confidence intervals: Wilson's after a rate. After the word *cluster*, they are from a bootstrap over "
    "episodes, and over agents if there are several. After the word *Student*, they are Student's, over seeds. "
    "Tables name all others."
)
TERMS = (
    "- **Case**: a state, a command there, and a *foil*, a valid action that the agent did not choose.\n"
    "- **Solved**: the search found a *valid* command, under which the foil wins by the margin kappa (0.05 in "
    "log-probability). **Feasible**: a valid command exists.\n"
    "- **Front**: the returns that the agent learned to reach. Each can be issued as a command.\n"
    "- **Distance**: the length of the change of the command, with each objective divided by its range. "
    "**Optimum**: the smallest distance of a valid command, proven up to a small gap.\n"
    "- **Search region**: the commands that are searched, either the *paper's*, a box that its authors set by hand, or "
    "the *reachable* one, the returns that are still possible from a state.\n"
    "- **Realised returns**: in the two stochastic environments (B-Bottles, R-Gather), the agent learned from the "
    "returns of single episodes, like the authors' agents. **Expected returns**: it learned from means over many "
    "episodes.\n"
    "- **CF-ZOO** and **White-CW**: the two methods of the paper. *As run* means with the settings of the authors' "
    "code and published rows, which differ from the paper's text. CF-ZOO tests *rays* first, then refines its closest "
    "answer by *ZOO*, a descent by finite differences. The budget *B* limits the queries of each phase.\n"
    "- **Boundary** and **Exact**: searches of this library. Exact proves that its answer is closest, or that a case "
    "is infeasible."
)
REPEAT = (
    "`make results` writes all pages but [agents](agents.md), which `make seeds` writes. "
    "`paretofoil reproduce all --recorded --out paper/results` writes every page again from the recorded answers in "
    "`rows/`. Tables are in `tables/`; the appendix, `tables/appendix-*`, has those that are too long for a page. "
    "The benchmarks of this library have [pages of their own](../../benchmarks/results/README.md)."
)


def index(pages: Mapping[str, Report]) -> Report:
    """Return the index of pages by name."""
    report = Report(TITLE).say(INTRODUCTION)
    for name, page in pages.items():
        report.say(f"## [{page.title}]({name}.md)")
        report.say("\n".join(f"- {finding.sentence}" for finding in page.findings))
        pictures = [finding.picture for finding in page.findings if finding.picture]
        report.say(*(f"[![{page.title}](figures/{picture})]({name}.md)" for picture in pictures))
    return report.say("## Terms", TERMS, "## How to repeat the measurements", REPEAT)
