"""The score of the mutations: as lines, and as a page."""

from dataclasses import dataclass

from mutations import Mutation

KILLED, TIMEOUT, SURVIVED, HARMLESS = "killed", "killed by timeout", "survived", "harmless"
BROKEN = "does not apply"


@dataclass(frozen=True)
class Score:
    """What was noticed, of some mutations."""

    verdicts: dict[Mutation, str]

    @property
    def cells(self) -> str:
        """For a table."""
        return f"{len(self.verdicts)} | {len(self.noticed)} | {len(self.harmless)} | {len(self.survivors)}"

    @property
    def sentence(self) -> str:
        """Harmless ones stand apart: there is nothing about them to notice."""
        share = len(self.noticed) / max(len(self.verdicts) - len(self.harmless), 1)
        late = sum(verdict == TIMEOUT for verdict in self.verdicts.values())
        return (
            f"{len(self.noticed)} of {len(self.verdicts)} mutations are noticed ({late} of them by timeout), "
            f"{len(self.harmless)} are harmless, {len(self.survivors)} survive: "
            f"{share:.1%} of those that are not harmless are noticed."
        )

    @property
    def noticed(self) -> list[Mutation]:
        return [m for m, verdict in self.verdicts.items() if verdict in (KILLED, TIMEOUT)]

    @property
    def harmless(self) -> list[Mutation]:
        return [m for m, verdict in self.verdicts.items() if verdict == SURVIVED and m.harmless]

    @property
    def survivors(self) -> list[Mutation]:
        """What is a reason to act, mutations that no longer apply included."""
        return [m for m, v in self.verdicts.items() if v == BROKEN or (v == SURVIVED and not m.harmless)]

    @property
    def mistaken(self) -> list[Mutation]:
        """Those that are called harmless, and are noticed."""
        return [m for m in self.noticed if m.harmless]

    def __str__(self) -> str:
        lines = [self.sentence]
        for m in self.survivors:
            lines.append(f"\n{self.verdicts[m]}: {m.file}\n  - {m.old}\n  + {m.new}\n  ({m.reason})")
        return "\n".join(lines + [f"\nno longer harmless: {mutation}" for mutation in self.mistaken])

    def part(self, folder: str) -> "Score":
        return Score({m: verdict for m, verdict in self.verdicts.items() if m.file.startswith(folder + "/")})


PAGE = """# Would the tests notice?

`make mutants` breaks one line of the package at a time and runs the tests of its module; `benchmarks/mutations.py` has
the list, with what each would do. This page is made by it.

{score.sentence}

| folder | mutations | noticed | harmless | survived |
|---|---|---|---|---|
{folders}

## Survivors

{survivors}

## Harmless

No test can, or need, notice these.

{harmless}
"""


def page(score: Score) -> str:
    folders = sorted({m.file.split("/")[0] for m in score.verdicts})
    rows = [f"| `{folder}/` | {score.part(folder).cells} |" for folder in folders] + [f"| all | {score.cells} |"]
    survivors = [f"- `{m.file}`, {m.reason}: `{m.new}`" for m in score.survivors]
    harmless = [f"- `{m.file}`, {m.reason}: {m.harmless}." for m in score.harmless]
    return PAGE.format(
        score=score,
        folders="\n".join(rows),
        survivors="\n".join(survivors) or "None.",
        harmless="\n".join(harmless) or "None.",
    )
