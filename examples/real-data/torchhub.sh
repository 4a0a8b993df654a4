#!/bin/sh
# Which search finds the model of PyTorch Hub that a question is about?
#
#   sh examples/real-data/torchhub.sh FOLDER
#
# FOLDER holds torchhub_api.jsonl and torchhub_eval.json of Gorilla's APIBench (Patil and others 2023; Apache 2.0).
set -eu
data=${1:?"name the folder with torchhub_api.jsonl and torchhub_eval.json"}
mkdir -p demo-output/torchhub
python3 examples/real-data/torchhub.py "$data" demo-output/torchhub
searchmark compare --gold-set demo-output/torchhub/suite.json --corpus demo-output/torchhub/corpus.jsonl \
  --agents bm25 fts5 semantic hybrid random --baseline bm25 --num-runs 1 --no-config \
  -m nDCG@10 -m RR -m Success@5 --by category --brief -o demo-output/torchhub.html -o demo-output/torchhub.json
