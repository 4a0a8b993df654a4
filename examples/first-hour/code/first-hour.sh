#!/bin/sh
# Code search: the history of a repository becomes questions, and every question is asked at the commit before the answer.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp -R "$(searchmark suites code-history --repository)" "$work/shop"

# 1. Questions from the newest commits.
searchmark generate --repo "shop=$work/shop" --max-cases 30 -o "$work/gold.json"
searchmark cases "$work/gold.json" --limit 5

# 2. Two agents, at the parent of every commit; a random one says what luck is worth.
searchmark compare --gold-set "$work/gold.json" --repo "shop=$work/shop" --agents keyword bm25 random -m nDCG@10 \
  --num-runs 1 --no-archive --save-run "$work/runs" --brief

# 3. Why is the worst case bad?
searchmark cases "$work/gold.json" --run "$work/runs/keyword.jsonl" --sort nDCG@10 --limit 3
