# Sourced by tools/demo and tools/test: the steps both need, each with its time, and what to do when one fails.
cd "$(dirname "${BASH_SOURCE[0]}")/.."
cache=${XDG_CACHE_HOME:-$HOME/.cache}/baretile
logs=build/logs
mkdir -p "$logs"

# step NAME CURE COMMAND…: runs it quietly with a line of progress; on failure shows the end of its output and the cure.
step() {
  local name=$1 cure=$2 log="$logs/${1// /_}.log" start=$SECONDS
  shift 2
  printf '%-28s' "$name"
  if "$@" >"$log" 2>&1; then
    printf '%4d s\n' $((SECONDS - start))
  else
    echo "failed"
    tail -15 "$log" >&2
    printf '%s failed: %s\n(full output: %s)\n' "$name" "$cure" "$log" >&2
    exit 1
  fi
}

# build [TARGET…]: all, when none is named.
build() { cmake --preset release && cmake --build --preset release ${1:+--target "$@"}; }

# The NumPy side of the golden logits, in a virtual environment of its own.
python_env() {
  [ -x "$cache/venv/bin/python" ] || python3 -m venv "$cache/venv"
  "$cache/venv/bin/python" -c 'import numpy, gguf, tokenizers, jinja2' 2>/dev/null ||
    "$cache/venv/bin/pip" install -q numpy gguf==0.19.0 tokenizers jinja2
}

golden() {
  local file=$cache/models/golden.safetensors
  [ -s "$file" ] || { "$cache/venv/bin/python" tools/golden.py logits "$file.new" && mv "$file.new" "$file"; }
}

# prepare [TARGET…]
prepare() {
  tools/setup
  step "build" "see the first error above; a full disk and less than 2 GB of memory are the usual causes" build "$@"
  step "model" "needs PyPI once (93 MB); see docs/start.md for working offline" tools/get-model
}
