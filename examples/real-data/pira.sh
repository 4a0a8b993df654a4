#!/bin/sh
# Questions about the ocean, asked in Portuguese and in English, of texts in either.
#
#   sh examples/real-data/pira.sh FOLDER
#
# FOLDER holds corpus.jsonl (id, en, pt), queries.jsonl (id, en, pt) and qrels.tsv, made from Pira (C4AI, CC0).
set -eu
data=${1:?"name the folder with corpus.jsonl, queries.jsonl and qrels.tsv"}
for pair in en-en pt-pt pt-en; do
  asked=${pair%-*} written=${pair#*-}
  echo "== asked in $asked, written in $written =="
  searchmark compare --gold-set "$data/qrels.tsv" --topics "$data/queries.jsonl" --map "suite.query=$asked" \
    --corpus "$data/corpus.jsonl" --map "text=$written" \
    --agents bm25 fts5 semantic hybrid random --baseline bm25 --num-runs 1 --no-config \
    -m nDCG@10 -m RR --brief -o "demo-output/pira-$pair.html" -o "demo-output/pira-$pair.json"
done
