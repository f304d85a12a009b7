#!/bin/sh
# reference_test.sh FOLDER: Doxygen makes the reference of the public headers there, without a word of complaint.
set -eu
command -v doxygen >/dev/null || { echo "skipped: doxygen is not installed"; exit 77; }
cd "$(dirname "$0")/../.."
mkdir -p "$1"
said=$(BARETILE_REFERENCE=$1 doxygen docs/Doxyfile 2>&1)
[ -z "$said" ] || { echo "$said"; exit 1; }
grep -q "x where it is positive, else 0" "$1/html/namespacebaretile.html" || { echo "the rows of ops.def are missing in $1/html"; exit 1; }
