#!/bin/sh
# Shop search: ratings from Quepid, a catalogue as CSV, and what Elasticsearch answered. Is it good, and what is in its way?
set -eu
cd "$(dirname "$0")"
catalogue="--corpus products.csv --map id=sku --map title=name --map text=descr"

# 1. What is there: the ratings are a suite as they are.
searchmark cases ratings.csv
searchmark audit ratings.csv $catalogue

# 2. How good is what the shop answers today? The responses are keyed by the text of the query.
searchmark evaluate --gold-set ratings.csv --run elasticsearch=elasticsearch.json $catalogue -m nDCG@10,MRR -m 'P@[1,3]'

# 3. The worst query, hit by hit.
searchmark cases ratings.csv 'something warm' --run elasticsearch=elasticsearch.json $catalogue

# 4. Would a search by meaning be better?
searchmark compare --gold-set ratings.csv --run elasticsearch=elasticsearch.json --agents bm25 hybrid $catalogue -m nDCG@10 --no-archive
