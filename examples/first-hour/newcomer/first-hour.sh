#!/bin/sh
# A fresh machine and no data: what is this, what can it do here, and what does a result look like?
set -eu
cd "$(dirname "$0")"

# 1. What works on this machine?
searchmark doctor

# 2. Suites that come with it, and one search on one of them.
searchmark suites
searchmark evaluate --gold-set builtin:api-operations --agent bm25 --no-archive -o first.html || echo "the gate of this suite is for hybrid search: code $?"

# 3. Is the expensive one better, and is that shown?
searchmark compare --gold-set builtin:api-operations --agents bm25 hybrid --no-archive --brief

# 4. What is a measure?
searchmark measures nDCG
rm -f first.html
