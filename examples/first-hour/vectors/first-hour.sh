#!/bin/sh
# Vector search: which setting of the index is cheap and loses nothing, and is the loss shown?
set -eu
cd "$(dirname "$0")"
trap 'rm -f sweep.json exact.jsonl' EXIT

# 1. What is tried; settings that are the same are named once.
searchmark sweep --gold-set builtin:fashion --config sweep.yaml --dry-run

# 2. Recall of neighbours, quality and latency of each, against exact search.
searchmark sweep --gold-set builtin:fashion --config sweep.yaml -o sweep.json

# 3. Is it the index or the model? Exact search alone, with what ranks above the right items.
searchmark evaluate --gold-set builtin:fashion --agent semantic --no-archive -q --save-run exact.jsonl || echo "the gate of this suite is for hybrid search: code $?"

# 4. A gate on all three: quality, recall of neighbours and latency.
searchmark gate exact.jsonl --gold-set builtin:fashion --gate fashion-vectors || echo "the gate fails with code $?"
