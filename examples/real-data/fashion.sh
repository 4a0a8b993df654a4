#!/bin/sh
# A catalogue without judgments: grades from its own fields, then four searches, and titles alone against whole items.
#
#   sh examples/real-data/fashion.sh FOLDER
#
# FOLDER holds fashion.jsonl, a catalogue of items with name, description, category and brand.
# Queries and synonyms are ours, in examples/labelling/retail_fashion.
set -eu
data=${1:?"name the folder with fashion.jsonl"}
ours=examples/labelling/retail_fashion
mkdir -p demo-output/fashion
searchmark label --corpus "$data/fashion.jsonl" --queries $ours/queries_fashion.txt --synonyms $ours/synonyms.txt --fields category=style \
  -o demo-output/fashion/labels.jsonl
searchmark compare --gold-set demo-output/fashion/labels.jsonl --topics $ours/queries_fashion.txt --corpus "$data/fashion.jsonl" \
  --config examples/real-data/fashion.yaml --agents bm25 fts5 semantic titles hybrid random --baseline bm25 \
  -m nDCG@10 -m Recall@10 -m Precision@10 -m HitRate@10 -m MRR@10 --brief -o demo-output/fashion.html -o demo-output/fashion.json
