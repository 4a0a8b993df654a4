"""From which size on the gates that come with Searchmark see that search got worse, and how often they are red for no reason.

    python benchmarks/gate_self_test.py

Prints the table of docs/gates.md. The runs are drawn with a fixed seed and pass their gate with some room.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from searchmark import Answer, Case, Document, Evaluation, GateRule, GateSettings, Hit, Judgment, Run, Suite, rules_of

SEED = 20261116


@dataclass(frozen=True)
class Setting:
    """A gate, and a suite and a run to try it on: categories with their sizes, targets of a case, how often the first
    rank has one, and how much less often each later one.
    """

    name: str
    gates: GateSettings
    categories: Sequence[int]
    targets: int
    depth: int
    share: float
    falls: float = 1.0


SETTINGS = [
    Setting("`search-relevance`, 52 cases", GateSettings(preset="search-relevance"), (10, 8, 8, 6, 8, 12), 5, 5, 0.93),
    Setting("`fts5-vector-reranker`, 50 cases", GateSettings(preset="fts5-vector-reranker"), (10,) * 5, 12, 10, 0.8, 0.97),
    *(
        Setting(
            f"nDCG@10 `against: baseline`, {cases} cases",
            GateSettings(rules=(GateRule(measure="nDCG@10", against="baseline"),)),
            (cases // 5,) * 5,
            3,
            10,
            0.6,
            0.6,
        )
        for cases in (50, 200, 1000)
    ),
    Setting(
        "nDCG@10 `non-inferior`, margin 0.02, 1000 cases",
        GateSettings(rules=(GateRule(measure="nDCG@10", against="baseline", policy="non-inferior", margin=0.02),)),
        (200,) * 5,
        3,
        10,
        0.6,
        0.6,
    ),
]
SHOWN = ("relevant hits dropped", "first two results swapped", "order of the results shuffled", "agent dead", "category a emptied")


def drawn(setting: Setting) -> tuple[Suite, Run]:
    """Cases with as many targets each, and answers whose ranks have one of them as often as the setting says."""
    generator = np.random.default_rng(SEED)
    cases, answers = [], []
    for category, size in zip("abcdef", setting.categories, strict=False):
        for number in range(size):
            case = f"{category}{number}"
            targets = [f"{case}-t{each}" for each in range(setting.targets)]
            left = list(targets)
            hit = generator.random(setting.depth) < setting.share * setting.falls ** np.arange(setting.depth)
            ids = [left.pop(0) if left and hit[rank] else f"{case}-x{rank}" for rank in range(setting.depth)]
            cases.append(Case(case, case, tuple(Judgment(each) for each in targets), category=category))
            answers.append(Answer(case, "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1))))
    return Suite.from_cases("drawn", cases), Run.from_answers("agent", answers)


def five_fixtures() -> tuple[Suite, Run]:
    """Three documents each, two of them relevant, and answers in the expected order."""
    cases, answers = [], []
    for number in range(5):
        ids = [f"f{number}-d{place}" for place in range(3)]
        judgments = tuple(
            Judgment(each, grade=grade, rank=rank) for each, grade, rank in zip(ids, (2, 1, 0), (1, 2, 3), strict=True)
        )
        documents = tuple(Document(each, each) for each in ids)
        cases.append(Case(f"f{number}", f"f{number}", judgments, category="a", documents=documents))
        answers.append(Answer(f"f{number}", "ok", tuple(Hit(each, rank) for rank, each in enumerate(ids, 1))))
    return Suite.from_cases("fixtures", cases), Run.from_answers("agent", answers)


def main() -> None:
    print("| gate | " + " | ".join(SHOWN) + " | false alarms |")
    print("|---" * (len(SHOWN) + 2) + "|")
    fixtures = ("`semantic-fixtures`, 5 fixtures", GateSettings(preset="semantic-fixtures"), five_fixtures())
    for name, gates, (suite, run) in (fixtures, *((setting.name, setting.gates, drawn(setting)) for setting in SETTINGS)):
        found = Evaluation(suite, rules=rules_of(gates)).self_test([run])
        caught = {each.mutation: each for each in found.caught}
        cells = ["not visible" if caught[each].share is None else f"{caught[each].share:.0%}" for each in SHOWN]
        chance = found.chance
        alarms = "none possible" if chance is None or chance.red is None else f"{chance.red} of {chance.trials:,}"
        print(f"| {name} ({found.verdict}) | " + " | ".join(cells) + f" | {alarms} |", flush=True)


if __name__ == "__main__":
    main()
