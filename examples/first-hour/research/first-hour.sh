#!/bin/sh
# Research: TREC topics, packed qrels and runs, the official measures, and whether the difference is real.
set -eu
cd "$(dirname "$0")"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# 1. The official set, from packed files.
searchmark evaluate --gold-set qrels.txt.gz --topics topics.trec --run sparse.run.gz --corpus documents.trec -m official

# 2. Two systems.
searchmark compare --gold-set qrels.txt.gz --run sparse=sparse.run.gz dense=dense.run.gz -m AP -m 'nDCG(gains=0:0,1:1,2:10)@10'

# 3. Aspects.
searchmark evaluate --gold-set diversity.qrels --format diversity-qrels --run sparse.run.gz -m 'alpha_nDCG@10'

# 4. The collection for others: a BEIR folder, and a run in TREC format.
searchmark convert qrels.txt.gz --topics topics.trec --corpus documents.trec "$work/beir"
ls "$work/beir"
searchmark evaluate --gold-set "$work/beir" --agent bm25 --corpus "$work/beir" --save-run "$work/bm25.trec" --no-archive -q
head -n 2 "$work/bm25.trec"
