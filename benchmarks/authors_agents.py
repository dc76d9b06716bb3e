"""Run the paper's studies on the agents that its authors published.

    python benchmarks/authors_agents.py FOLDER [--out paper/results]

FOLDER holds the authors' checkpoints and fronts (ENV_R.pt and ENV_R_achievable_within_1pct.txt), which are under the
GPLv3 and not part of this repository. The benchmark prints the paper's worked examples, which
`paretofoil_paper.examples` quotes, and writes the rows of the page about agents to OUT/rows, without the answers.
Studies whose rows are recorded are skipped; an interrupted one resumes.
"""

import argparse
from pathlib import Path

import numpy as np

import paretofoil as pf
from paretofoil.study import make_study, run_study
from paretofoil.study.parquet import export_parquet, read_parquet
from paretofoil_paper.examples import EXAMPLES, answers_of, vector
from paretofoil_paper.others import AGENTS, STUDIES, agent_name, unsolved


def main(folder: Path, out: Path) -> None:
    print("| example | search | counterfactual command | in the paper's box |\n|---|---|---|---:|")
    for example in EXAMPLES:
        if example.authors_agent:
            agent = take(folder, example.agent)
            for search, command in answers_of(example, agent).items():
                size = agent.paper_space.distance(command, np.array(example.remaining))
                print(f"| {example.title} | {search} | {vector(command)} | {size:.4f} |", flush=True)
    agents = {environment: take(folder, environment) for environment in AGENTS}
    for agent in agents.values():
        print(f"{agent.name}: returns as stated: {agent.provenance.get('returns as stated', 'stochastic')}", flush=True)
    for name, study in STUDIES.items():
        path = out / "rows" / f"{name}.sqlite"
        rows = path.with_suffix(".parquet")
        if not rows.is_file():
            only = (
                None if study.after is None else unsolved(read_parquet(path.with_name(f"{study.after}.parquet")).rows)
            )
            chosen = [agents[environment] for environment in study.agents]
            run_study(make_study(chosen, study.searches, study.rule, only=only), path, workers=1)
            export_parquet(path, rows, answers=False)
        print(rows, flush=True)


def take(folder: Path, environment: str) -> pf.Agent:
    """Import an agent of the authors, with the front that they published."""
    file = AGENTS[environment]
    front = folder / f"{file}_achievable_within_1pct.txt"
    return pf.import_agent(folder / f"{file}.pt", environment, front=front, name=agent_name(environment))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--out", type=Path, default=Path(__file__).parents[1] / "paper" / "results")
    given = parser.parse_args()
    main(given.folder, given.out)
