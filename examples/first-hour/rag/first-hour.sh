#!/bin/sh
# Retrieval for RAG: questions with the file that answers them, a folder of Markdown, a retriever of one's own.
set -eu
cd "$(dirname "$0")"
fails_with() { expected=$1; shift; code=0; "$@" || code=$?; test "$code" -eq "$expected" || { echo "exit $code instead of $expected: $*" >&2; exit 1; }; }

# 1. The first mistake: the questions say docs/DOCKER.md, and below docs/ it is DOCKER.md. That is no zero: exit 2, and the first line says why.
fails_with 2 searchmark evaluate --gold-set questions.csv --agent bm25 --corpus docs --no-archive

# 2. From the folder above, the paths are right; the questions themselves are not searched.
searchmark compare --gold-set questions.csv --agents bm25 semantic --corpus . --include 'docs/**' -m nDCG@10 --no-archive

# 3. Is the retriever of one's own an agent?
searchmark agents --check retriever.py:Retriever
searchmark evaluate --gold-set questions.csv --agent retriever.py:Retriever --corpus . --include 'docs/**' --no-archive -q

# 4. One that fails for a question: the report has the traceback and the question. One failure in seventeen is too much to trust the mean.
fails_with 2 searchmark evaluate --gold-set questions.csv --agent retriever.py:Broken --corpus . --include 'docs/**' --no-archive
