#!/usr/bin/env bash
# The numbers of the project beside their bars; exit 1 when one misses its bar.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

missed=0
for script in bench/generate_speed.py bench/spec_startup.py bench/amd_build_cost.py; do
  printf '\n== %s\n' "$script"
  python "$script" || missed=1
done
exit "$missed"
