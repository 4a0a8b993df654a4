#!/bin/sh
# What can a score on the expert annotations of CodeSearchNet mean? The code itself is not in the file, so nothing is searched: the
# annotations become a suite, and the suite is audited.
#
#   sh examples/real-data/codesearchnet.sh FOLDER
#
# FOLDER holds annotationStore.csv of CodeSearchNet (Husain and others 2019; MIT).
set -eu
data=${1:?"name the folder with annotationStore.csv"}
mkdir -p demo-output
python3 examples/real-data/codesearchnet.py "$data/annotationStore.csv" demo-output/codesearchnet.json
searchmark audit demo-output/codesearchnet.json -m nDCG@10 -o demo-output/codesearchnet-audit.md
