#!/bin/sh
# Which search finds the files of a change, asked in the tree that its author saw? A hundred cases each of several histories, as one table.
#
#   sh examples/real-data/histories.sh OUTPUT [NAME=]REPOSITORY...
#
# Repositories are full clones. docs/results.md names the ten public ones of our own table.
set -eu
output=${1:?"name a folder for the results, then repositories"}
shift
mkdir -p "$output"
named=$(for each in "$@"; do printf ' --repo %s' "$each"; done)
# shellcheck disable=SC2086  # one option per repository
searchmark generate $named --max-cases 100 --sample spread -o "$output/gold_set.json"
# shellcheck disable=SC2086
searchmark compare --gold-set "$output/gold_set.json" $named --agents keyword bm25 fts5 semantic hybrid path-match popular random \
  --baseline bm25 --num-runs 1 --no-config --jobs 2 -m nDCG@10 -m RR -m Success@5 --by repository --brief \
  --journal "$output/journal" --no-archive -o "$output/histories.html" -o "$output/histories.md" -o "$output/histories.json"
