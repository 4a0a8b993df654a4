#!/bin/sh
# What does each language cost, and asking in one what is written in the other?
#
#   sh examples/real-data/xquad.sh FOLDER
#
# FOLDER holds corpus.en.jsonl, corpus.es.jsonl, queries.en.jsonl, queries.es.jsonl and qrels.tsv, made from XQuAD (Artetxe, Ruder and
# Yogatama 2020; CC BY-SA 4.0): the same questions and paragraphs in both languages.
set -eu
data=${1:?"name the folder with corpus.en.jsonl, queries.en.jsonl, corpus.es.jsonl, queries.es.jsonl and qrels.tsv"}
for pair in en-en es-es es-en; do
  asked=${pair%-*} written=${pair#*-}
  echo "== asked in $asked, written in $written =="
  searchmark compare --gold-set "$data/qrels.tsv" --topics "$data/queries.$asked.jsonl" --corpus "$data/corpus.$written.jsonl" \
    --agents bm25 fts5 semantic hybrid random --baseline bm25 --num-runs 1 --no-config \
    -m nDCG@10 -m RR --brief -o "demo-output/xquad-$pair.html" -o "demo-output/xquad-$pair.json"
done
