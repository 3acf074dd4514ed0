#!/usr/bin/env bash
# Replays a serving window with two darters, side by side, and says which rows of plain calls got slower.
#
#   run_matrix.sh --original PATH [--fixed PATH] [--pairs N] [--fail-above R] [--json FILE] -- [bench_hotpath.py's arguments]
#
# A path is an installed tree, an environment, a build tree or a source checkout, which is built once and cached. PYTHON
# names the interpreter, which needs darter's dependencies; with valgrind installed, instructions per call decide.
# Exit status: 0; 3 when a plain call got slower; 2 when something cannot be run.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
if [ -z "${PYTHON:-}" ]; then
  PYTHON=$(command -v python || command -v python3)
  if [ -x "$root/.venv/bin/python" ]; then PYTHON=$root/.venv/bin/python; fi
fi
# What the user meant, from where they stand: paths may be relative, so the folder is not changed.
export PYTHONPATH="$root${PYTHONPATH:+:$PYTHONPATH}" PYTHONDONTWRITEBYTECODE=1
exec "$PYTHON" -m benchmarks.hotpath_replay.matrix "$@"
