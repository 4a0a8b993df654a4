"""Gorilla's torchhub files as a corpus and a suite: ``python torchhub.py FOLDER OUTPUT``.

An API is named by its call, since several have one name. A question is what follows ``###Instruction:``. Questions whose call
is not among the APIs are left out and counted.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path


def main(source: Path, output: Path) -> None:
    apis = {api["api_call"]: api for line in (source / "torchhub_api.jsonl").read_text().splitlines() if (api := json.loads(line))}
    with (output / "corpus.jsonl").open("w") as file:
        for call, api in apis.items():
            text = f"{api['functionality']}\n{api['description']}"
            file.write(json.dumps({"id": call, "title": api["api_name"], "text": text, "domain": api["domain"]}) + "\n")
    asked = [json.loads(line) for line in (source / "torchhub_eval.json").read_text().splitlines()]
    known = [each for each in asked if each["api_call"] in apis]
    cases = [
        {
            "id": f"q{number}",
            "query": question_of(each["code"]),
            "category": each["api_data"]["domain"],
            "judgments": [{"target": each["api_call"]}],
        }
        for number, each in enumerate(known)
    ]
    (output / "suite.json").write_text(json.dumps({"schema_version": 1, "name": "torchhub", "cases": cases}))
    sys.stdout.write(f"{len(apis)} APIs, {len(cases)} questions, {len(asked) - len(known)} left out: their API is not listed\n")


def question_of(text: str) -> str:
    return text.split("###Instruction:", 1)[-1].split("###Output:", 1)[0].strip()


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:3]))
