#!/bin/sh
# A search as a program: the files of a folder that hold a word of the query, one per line; exit code 1 where there is none.
cd "$2" && for word in $1; do
  grep --recursive --files-with-matches --ignore-case --word-regexp --fixed-strings -e "$word" . | sed 's|^\./||'
done | sort | uniq -c | sort -k1,1nr -k2 | sed 's/^ *[0-9]* //' | grep .
