"""The annotations of CodeSearchNet as a suite: ``python codesearchnet.py annotationStore.csv suite.json``.

A query is asked once per language, so both are the case. Where several experts graded one function, its gain is their mean, and how
often they disagree is printed.
"""

from __future__ import annotations

import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean


def main(source: Path, output: Path) -> None:
    grades: defaultdict[tuple[str, str], defaultdict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    with source.open(newline="") as file:
        for row in csv.DictReader(file):
            grades[row["Language"], row["Query"]][row["GitHubUrl"]].append(int(row["Relevance"]))
    cases = [
        {
            "id": f"{language}: {query}",
            "query": query,
            "category": language,
            "judgments": [judgment(url, given) for url, given in urls.items()],
        }
        for (language, query), urls in grades.items()
    ]
    output.write_text(json.dumps({"schema_version": 1, "name": "codesearchnet", "cases": cases}))
    several = [given for urls in grades.values() for given in urls.values() if len(given) > 1]
    differing = [given for given in several if len(set(given)) > 1]
    pairs = sum(map(len, grades.values()))
    sys.stdout.write(f"{len(cases)} cases, {pairs} pairs; {len(several)} graded by several, who disagree on {len(differing)}\n")


def judgment(url: str, given: list[int]) -> dict[str, object]:
    worth = mean(given)
    return {"target": url, "grade": -int(-worth // 1), "gain": worth}


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
