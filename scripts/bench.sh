#!/usr/bin/env bash
# Print the project's speed measurements beside their bars; exit 1 if one misses its bar.
set -uo pipefail
cd "$(dirname "$0")/.." || exit

missed=0
for script in bench/generate_speed.py bench/spec_startup.py bench/amd_build_cost.py; do
  printf '\n== %s\n' "$script"
  python "$script" || missed=1
done
exit "$missed"
