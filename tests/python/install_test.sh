#!/usr/bin/env bash
# install_test.sh BUILD PYTHON: `pip install .` into a new environment, with BUILD's libraries, and uses it away from the source tree.
set -euo pipefail
build=$1 python=$2 root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$python" -m venv "$work/venv" || { echo "no venv; apt-get install python3-venv"; exit 77; }
"$work/venv/bin/pip" install -q --disable-pip-version-check --no-index --config-settings build-dir="$build" "$root"
cd "$work"
got=$(env -u BARETILE_SIM BARETILE_DEVICE=sim venv/bin/python -c '
import baretile as bt
x, w = bt.Tensor([[1, -2], [3, 4]]), bt.Tensor([[2, 0], [0, 3]])
print((x @ w).relu().tolist())')
[ "$got" = "[[2.0, 0.0], [6.0, 12.0]]" ] || { echo "printed: $got" >&2; exit 1; }
