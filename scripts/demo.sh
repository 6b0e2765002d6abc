#!/usr/bin/env bash
# Run the whole chain on this machine: instances.yaml -> generated/ -> host and AMD libraries -> a table of verdicts.
set -euo pipefail
cd "$(dirname "$0")/.."

step() { printf '\n== %s\n' "$*"; "$@"; }

step ckgen generate
step ckgen build --platform host --set ci
if command -v hipcc /opt/rocm/bin/hipcc >/dev/null 2>&1; then
  step ckgen build --platform amd --arch gfx90a
else
  printf '\nhipcc is not installed (Debian: apt-get install hipcc libamdhip64-dev): the AMD library is not built\n'
fi
step ckgen smoke --platform host --set ci --split-k -1 --split-k 7 --brief
