#!/bin/sh
# Which search finds the files of a change, asked in the tree that its author saw? A hundred cases each of several histories, as one table:
# once with files as the answer, and once with the lines that a change touches, under a budget of tokens.
#
#   sh examples/real-data/histories.sh OUTPUT [NAME=]REPOSITORY...
#
# Repositories are full clones. docs/results.md names the ten public ones of our own table.
set -eu
output=${1:?"name a folder for the results, then repositories"}
shift
mkdir -p "$output"
named=$(for each in "$@"; do printf ' --repo %s' "$each"; done)
asked="--max-cases 100 --sample spread --no-config"
how="--num-runs 1 --jobs 2 --no-archive --journal $output/journal --brief"
# shellcheck disable=SC2086  # one option per repository, and several in each of the others
{
  searchmark generate $named $asked -o "$output/files.json"
  searchmark compare --gold-set "$output/files.json" $named $how --config examples/real-data/histories.yaml \
    --agents keyword bm25 fts5 semantic hybrid path-match popular random -m nDCG@10 -m RR -m Success@5 --by repository \
    -o "$output/files.html" -o "$output/files-report.json"
  searchmark generate $named $asked --granularity lines -o "$output/lines.json"
  searchmark compare --gold-set "$output/lines.json" $named $how --config examples/real-data/histories.yaml \
    --agents keyword bm25 fts5 semantic hybrid bm25-passages fts5-passages -m 'LineR(tokens=4000)' -m 'Efficiency(tokens=4000)' \
    --by repository -o "$output/lines.html" -o "$output/lines-report.json"
}
python3 examples/real-data/ranks.py "$output/files-report.json" nDCG@10 Success@5
python3 examples/real-data/ranks.py "$output/lines-report.json" 'LineR(tokens=4000)' 'Efficiency(tokens=4000)'
