#!/usr/bin/env bash
# consumer_test.sh BUILD C++-COMPILER C-COMPILER: installs BUILD to a new prefix, moves it (it must be relocatable), builds tests/install/consumer
# and the C example against it in a folder away from the source tree, through find_package and pkg-config, and compares what they print.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd) build=$1 compiler=$2 c_compiler=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "$*" >&2; exit 1; }
cmake --install "$build" --prefix "$work/first" >/dev/null
mv "$work/first" "$work/prefix"
cp -r "$here/consumer" "$here/../capi/example.c" "$work"
if grep -rlE 'fmt/|nlohmann' "$work/prefix/include"; then fail "installed headers need fmt or json"; fi
flags=$(sed -n 's/^BARETILE_SANITIZE:STRING=\(..*\)$/-fsanitize=\1/p' "$build/CMakeCache.txt")

if find "$work/prefix" -type f -perm -u+x -o -name '*.so*' -type f | xargs readelf -d | grep -F "$build"; then fail "installed files look into the build"; fi

cmake -S "$work/consumer" -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >/dev/null
cmake --build "$work/build" >/dev/null
unset BARETILE_SIM
for program in consumer consumer_static; do
  got=$(BARETILE_DEVICE=sim "$work/build/$program") || fail "$program failed"
  [ "$got" = "[[2, 0], [6, 12]]" ] || fail "$program printed: $got"
done
if ldd "$work/build/consumer_static" | grep libbaretile; then fail "the static consumer needs libbaretile.so"; fi

library=$(echo "$work"/prefix/lib*/libbaretile.so) && [ -e "$library" ] || library=$(echo "$work"/prefix/lib/*/libbaretile.so)
lib=$(dirname "$library")
export PKG_CONFIG_PATH=$lib/pkgconfig
# shellcheck disable=SC2046
"$c_compiler" $flags $(pkg-config --cflags baretile) "$work/example.c" -o "$work/example" $(pkg-config --libs baretile) -Wl,-rpath,"$lib"
BARETILE_DEVICE=sim "$work/example" | grep -qx 'relu(x w) = 2 0 6 12' || fail "the C example failed"

# Exported: the C interface and what public headers declare, all of one version.
nm -D --defined-only "$library" | c++filt >"$work/symbols"
if grep -v BARETILE_0 "$work/symbols"; then fail "symbols without a version"; fi
if grep -E '^[0-9a-f]+ . (fmt|std|nlohmann)::|baretile::(compiler|pci|noc|firmware|capi|cli|sim)::|::(Impl|Trace|Arc)::' "$work/symbols"; then fail "private symbols are exported"; fi

if command -v groff >/dev/null && [ -n "$(groff -man -ww -z "$work/prefix/share/man/man1/baretile.1" 2>&1)" ]; then fail "groff complains about the manual page"; fi
# shellcheck disable=SC1091
. "$work/prefix/share/bash-completion/completions/baretile"
complete_words() { COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) && _baretile && echo "${COMPREPLY[*]}"; }
[ "$(complete_words baretile he)" = "help hello" ] || fail "completion of commands: $(complete_words baretile he)"
[ "$(complete_words baretile chip c)" = check ] || fail "completion of chip's words: $(complete_words baretile chip c)"
[ "$(complete_words baretile generate --t)" = --temperature ] || fail "completion of options: $(complete_words baretile generate --t)"
