"""The rows of a benchmark are the lines of its tables; what its page says about them follows from them."""

import re
from pathlib import Path

import pytest

from paretofoil.agents import load_agent
from paretofoil.core.pareto import hypervolume
from paretofoil.envs import entry

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results"
Lines = list[dict[str, str]]


def page(name: str) -> str:
    """As one line: sentences are wrapped anywhere."""
    return " ".join((RESULTS / f"{name}.md").read_text().split())


def tables(name: str) -> list[Lines]:
    """The tables of a page; columns of one name are told apart by the one before, `CPU s` after `archive: steps`."""
    found: list[Lines] = []
    for block in re.findall(r"(?:^\|.*\n)+", (RESULTS / f"{name}.md").read_text(), re.MULTILINE):
        head, _, *rest = [[cell.strip() for cell in line.split("|")[1:-1]] for line in block.splitlines()]
        names = [n if head.count(n) == 1 else f"{head[i - 1]}, {n}" for i, n in enumerate(head)]
        found.append([dict(zip(names, line, strict=True)) for line in rest])
    return found


def number(cell: str) -> float:
    """Of a cell with one: `1,234`, `99.5%`, `6.7x`, `12/26 (46%)` is its first."""
    return float(re.match(r"-?[\d,]+(?:\.\d+)?", cell)[0].replace(",", ""))  # type: ignore[index]


def column(lines: Lines, name: str) -> list[float]:
    return [number(line[name]) for line in lines]


def says(name: str, *claims: str) -> None:
    for claim in claims:
        assert claim in page(name), f"{name}.md does not say: {claim}"


def adds_up(lines: Lines, first: str, *names: str) -> None:
    """The last line, of all, holds the sums of the others."""
    *parts, total = lines
    assert total[first] == "all"
    for name in names:
        assert sum(column(parts, name)) == number(total[name]), name


def test_every_page_of_a_benchmark_is_looked_at_here() -> None:
    here = {"training", "speed", "proofs", "soundness", "wide-networks", "never", "preferences", "ordinary-policies"}
    assert {path.stem for path in RESULTS.glob("*.md")} == {*here, "README"}


class TestTraining:
    def test_how_many_trainings_miss_a_point(self) -> None:
        lines = tables("training")[0]
        missing = [line for line in lines if line["found"] != line["known"]]
        assert all(line["reached"] == line["found"] for line in lines)
        assert [(line["environment"], line["seed"]) for line in missing] == [("branch-path", "2")]
        says("training", f"One of {len(lines)} misses a point: seed 2 of Branch-Path never finds the third point")

    def test_ours_are_the_agents_that_are_shipped(self) -> None:
        lines = [line for line in tables("training")[1] if line["exploration"].startswith("ours")]
        assert len(lines) == 3
        for line in lines:
            agent = load_agent(line["environment"] + ("-early" if "under-trained" in line["exploration"] else ""))
            volume = hypervolume(agent.front, entry(line["environment"]).reference)
            assert number(line["hypervolume (archive)"]) == pytest.approx(volume, abs=5e-5)
            assert number(line["steps"]) == agent.provenance["steps"]
            assert number(line["seed"]) == agent.provenance["seed"]
            assert number(line["archive"]) == len(agent.front)

    def test_the_time_to_the_front_is_told_as_it_was_measured(self) -> None:
        lines = {(line["training"], line["seed"]): line for line in tables("training")[2]}
        theirs = {seed: line for (who, seed), line in lines.items() if who == "MORL-Baselines"}
        reached = {seed: line for seed, line in theirs.items() if line["weights: steps"] != "not reached"}
        steps, speed = [], []
        for seed, their in reached.items():
            our = lines["ours", seed]
            steps.append(number(our["weights: steps"]) / number(their["weights: steps"]))
            per_second = [number(who["weights: steps"]) / number(who["weights: steps, CPU s"]) for who in (our, their)]
            speed.append(per_second[0] / per_second[1])
        says("training", f"front after {min(steps):.1f} to {max(steps):.1f} times as many steps as theirs")
        says("training", f"a step {min(speed):.0f} to {max(speed):.0f} times as fast")

    def test_shares_of_decisions_are_quotients(self) -> None:
        lines = tables("training")[3]
        flips = [re.fullmatch(r"(\d+)/(\d+) \((\d+)%\)", line["decisions flipped"]).groups() for line in lines]  # type: ignore[union-attr]
        assert [round(100 * int(some) / int(of)) for some, of, _ in flips] == [int(told) for *_, told in flips]

    def test_the_best_known_front_of_minecart_is_the_shipped_agents(self) -> None:
        agent = load_agent("minecart")
        volume = f"{hypervolume(agent.front, entry('minecart').reference):.4f}"
        says(
            "training",
            f"{len(agent.front)} points, hypervolume {volume} at",
            f"{len(agent.front)} points and {volume};",
        )
        seeds = re.search(r"of the seeds 0 to 3 \((.*?)\)", page("training"))
        volumes = [float(told) for told in seeds[1].split(", ")]  # type: ignore[index]
        assert max(volumes) == volumes[agent.provenance["seed"]] == pytest.approx(float(volume), abs=1e-4)


def test_speeds_are_told_in_multiples_of_the_slow_way() -> None:
    zoo, carts = tables("speed")
    seconds = column(zoo, "s per question")
    for name, slow in (("faster than torch", seconds[0]), ("faster than NumPy", seconds[1])):
        assert column(zoo, name) == pytest.approx([slow / taken for taken in seconds], rel=0.01, abs=0.05)
    rates = column(carts, "steps/s")
    assert column(carts, "times as fast") == pytest.approx([rate / rates[0] for rate in rates], abs=0.06)


class TestProofs:
    def test_what_is_said_of_the_audit_adds_up(self) -> None:
        lines = tables("proofs")[0]
        assert column(lines, "questions") == [
            a + b for a, b in zip(column(lines, "optimal"), column(lines, "infeasible"), strict=True)
        ]
        asked, certificates, commands, inside = (
            f"{sum(column(lines, name)):,.0f}"
            for name in ("questions", "certificates sampled", "commands", "commands in regions")
        )
        says(
            "proofs",
            f"{asked} of {asked} questions resolved; 0 violations among {commands} commands sampled over "
            f"{certificates} certificates; 0 violations among {inside} commands inside proven regions",
        )
        violations = [line[name] for line in lines for name in line if "violations" in name]
        assert set(violations) == {"0", "-"}

    def test_the_grid_of_the_papers_audit_finds_nothing(self) -> None:
        for line in tables("proofs")[1]:
            assert number(line["grid commands"]) == number(line["infeasible questions"]) * 200**3
            assert line["found valid"] == "0"

    def test_the_price_of_1_percent_is_a_quotient(self) -> None:
        lines = tables("proofs")[2]
        adds_up(lines, "agent", "questions", "open")
        *parts, total = lines
        for name in ("0.001: s", "1 %: s"):
            assert number(total[name]) == pytest.approx(sum(column(parts, name)), abs=0.05 * len(parts))
        assert number(total["time ratio"]) == pytest.approx(
            number(total["1 %: s"]) / number(total["0.001: s"]), abs=0.01
        )


class TestSoundness:
    def test_the_kinds_add_up(self) -> None:
        lines = tables("soundness")[0]
        adds_up(lines, "kind", *(name for name in lines[0] if name != "kind"))
        assert "No bound, certificate or range was wrong. The one entry under *violations*" in page("soundness")
        assert number(lines[-1]["violations"]) == 1

    def test_shares_of_commands_were_asked_about_a_million_times_each(self) -> None:
        lines = tables("soundness")[-1]
        assert column(lines, "commands") == [1e6 * decisions for decisions in column(lines, "decisions")]
        assert {line[name] for line in lines for name in ("violations", "shares outside")} == {"0"}


class TestWideNetworks:
    def test_how_many_networks_were_run(self) -> None:
        narrow, wide, *_ = tables("wide-networks")
        says("wide-networks", f"objectives. {len(narrow) + len(wide)} of them were run both before and after")

    def test_what_was_gained(self) -> None:
        narrow, wide, *_ = tables("wide-networks")
        small = [line for line in narrow if line["width"] == "64"]
        relu = [line for line in narrow if line["width"] == "256" and line["form"] == "relu"]
        others = [line for line in narrow if line["width"] == "256" and line["form"] != "relu"]
        says(
            "wide-networks",
            f"Narrow networks are bounded {gains(small)} times as fast",
            f"ReLU networks are bounded {gains(relu)} times as fast",
            f"and PCNs {gains(others)} times as fast",
            f"Boxes are bounded {gains(wide)} times as fast",
        )

    def test_how_many_questions_are_settled(self) -> None:
        wide = tables("wide-networks")[1]
        told = []
        for size in ("4", "6"):
            lines = [line for line in wide if line["d"] == size]
            asked, before, after = (
                round(sum(column(lines, name))) for name in ("questions", "before: resolved", "after: resolved")
            )
            within = "questions are settled within ten seconds " if size == "4" else ""
            told.append(f"{after} of {asked} {within}(before: {before})")
        says("wide-networks", *told)

    def test_the_mean_time_of_a_question(self) -> None:
        lines = tables("wide-networks")[2]
        spent = sum(sum(column(lines, f"d = {size}: s")) for size in (2, 3, 4))
        asked = 12 * 3 * len(lines)
        says("wide-networks", f"All {asked} are settled, in {spent / asked:.2f} CPU seconds")

    def test_how_many_questions_with_six_objectives_are_settled(self) -> None:
        lines = tables("wide-networks")[5]
        now, before = (round(sum(column(lines, f"{when}: settled"))) for when in ("now", "before"))
        asked = 2 * len(lines)
        says(
            "wide-networks",
            f"{now} of {asked} questions are settled within ten seconds each",
            f"settles {before} of them",
        )

    def test_how_many_questions_with_nine_objectives_are_settled(self) -> None:
        *_, euclidean, largest = tables("wide-networks")
        assert {line["d"] for line in (*euclidean, *largest)} == {"9"}
        settled, asked = (round(sum(column(euclidean, name))) for name in ("settled", "questions"))
        says("wide-networks", f"{settled} of {asked} questions are settled within ten seconds each")
        settled, asked = (round(sum(column(largest, name))) for name in ("settled", "questions"))
        assert settled == asked
        says("wide-networks", f"In the norm linf, all {asked} questions are settled")

    def test_all_questions_of_the_authors_agents_are_settled(self) -> None:
        lines = tables("wide-networks")[3]
        says("wide-networks", f"All {sum(column(lines, 'questions')):.0f} questions are settled.")
        for line in lines:
            assert number(line["questions"]) == sum(number(line[name]) for name in ("optimal", "infeasible", "open"))


def gains(lines: Lines) -> str:
    """ "18 to 86": how many times as many boxes a second."""
    ratios = [number(line["after: boxes/s"]) / number(line["before: boxes/s"]) for line in lines]
    return f"{min(ratios):.0f} to {max(ratios):.0f}"


@pytest.mark.parametrize("which", [0, 1])
def test_every_pair_of_never_is_proven_refuted_or_open(which: int) -> None:
    lines = tables("never")[which]
    adds_up(lines, "agent", "pairs", "proven", "refuted", "open", "samples", "violations")
    for line in lines:
        pairs, proven, refuted, left = (number(line[name]) for name in ("pairs", "proven", "refuted", "open"))
        assert pairs == proven + refuted + left
        assert line["settled"] == f"{(proven + refuted) / pairs:.1%}"
    assert number(lines[-1]["violations"]) == 0


def test_every_question_about_preferences_is_settled_or_open() -> None:
    (lines,) = tables("preferences")
    for line in lines:
        settled = [number(line[name]) for name in ("proven closest", "proven infeasible", "open")]
        assert number(line["questions"]) == sum(settled)
        assert number(line["with a proven range"].split(" of ")[1]) <= settled[0] + settled[2]
        assert {line[name] for name in line if "violations" in name} == {"0"}


def test_ordinary_policies_add_up() -> None:
    *lines, boundary, zoo = tables("ordinary-policies")[0]
    for total in (boundary, zoo):
        parts = [line for line in lines if line["search"] == total["search"]]
        adds_up([*parts, total], "agent", "feasible", "found: NumPy", "found: NumPy, torch", "bad: NumPy")
        for kind in ("found: NumPy", "found: NumPy, torch"):
            ratio = f"mean ratio: NumPy{kind.removeprefix('found: NumPy')}"
            weighted = sum(number(line[ratio]) * number(line[kind]) for line in parts) / number(total[kind])
            assert number(total[ratio]) == pytest.approx(weighted, abs=2e-4)
        assert {total["bad: NumPy"], total["bad: NumPy, torch"]} == {"0"}
