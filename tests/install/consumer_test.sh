#!/usr/bin/env bash
# consumer_test.sh BUILD COMPILER: installs BUILD to a new prefix, moves it (it must be relocatable), builds tests/install/consumer against it in a
# folder away from the source tree, and compares what it prints.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) build=$1 compiler=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
cp -r "$here/consumer" "$work/consumer"
if grep -rlE 'fmt/|nlohmann' "$work/prefix/include"; then
  echo "installed headers need fmt or json" >&2
  exit 1
fi
flags=$(sed -n 's/^BARETILE_SANITIZE:STRING=\(..*\)$/-fsanitize=\1/p' "$build/CMakeCache.txt")
cmake -S "$work/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$work/build" >/dev/null
got=$(BARETILE_DEVICE=sim "$work/build/consumer")
[ "$got" = "[[2, 0], [6, 12]]" ] || { echo "consumer printed: $got" >&2; exit 1; }
