#!/bin/sh
# Which search finds an operation of Jira Cloud's API?
#
#   sh examples/real-data/jira.sh FOLDER
#
# FOLDER holds corpus_2022.jsonl (id, summary, description, path of each operation, from Atlassian's published OpenAPI files),
# gold_draft.queries.jsonl (id, query, category, variation) and gold_draft.qrels.tsv (TREC, grades 3, 2, 1).
set -eu
data=${1:?"name the folder with corpus_2022.jsonl, gold_draft.queries.jsonl and gold_draft.qrels.tsv"}
searchmark compare --gold-set "$data/gold_draft.qrels.tsv" --topics "$data/gold_draft.queries.jsonl" \
  --corpus "$data/corpus_2022.jsonl" --map text=summary,description,path \
  --agents bm25 fts5 semantic hybrid random --baseline bm25 --num-runs 1 --no-config \
  -m nDCG@10 -m MRR@5 -m P@5 -m R@5 --by category --by variation --brief -o demo-output/jira.html -o demo-output/jira.json
