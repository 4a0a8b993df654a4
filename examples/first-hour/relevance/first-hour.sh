#!/bin/sh
# Quality assurance: cases with expected ids, thresholds that fail a build, a report, and expectations that change on purpose.
set -eu
cd "$(dirname "$0")"
mkdir work
cp cases.yaml operations.jsonl work
cd work
trap 'rm -rf ../work' EXIT

# 1. The naive list is a suite as it is, with its corpus and its thresholds in the header.
searchmark evaluate --gold-set cases.yaml --agent bm25 --no-archive -o report.md || echo "the build fails with code $?"
grep -A4 "Failed queries" report.md

# 2. One category, and the cases that fail in it.
searchmark evaluate --gold-set cases.yaml --agent bm25 --category users --no-archive -q || true

# 3. A baseline that is there is checked: a worse search fails without a word in any config.
searchmark evaluate --gold-set cases.yaml --agent bm25 --no-archive -q --save-run good.jsonl || true
searchmark baseline update good.jsonl --gold-set cases.yaml --reason "first measured" --yes
searchmark evaluate --gold-set cases.yaml --agent random --no-archive -q || echo "worse than the baseline: code $?"

# 4. Expectations change on purpose, one by one, and the file says who approved them.
searchmark approve cases.yaml --run good.jsonl --case 2 --author "QA <qa@example.org>" --reason "looked at" --yes
