#!/usr/bin/env bash
# Check style and types of all hand-written and generated code; --fix applies the formatters.
set -euo pipefail
cd "$(dirname "$0")/.."

cxx=$(git ls-files '*.hpp' '*.h' '*.cpp')
if [ "${1:-}" = --fix ]; then
  ruff check --fix ckgen tests scripts bench hatch_build.py
  ruff format ckgen tests scripts bench hatch_build.py
  # shellcheck disable=SC2086 # one word per file: no path here has a space
  [ -z "$cxx" ] || clang-format -i $cxx
  exit
fi
ruff check ckgen tests scripts bench hatch_build.py
mypy --strict ckgen bench scripts
lint-imports --no-cache >/dev/null || lint-imports --no-cache
# shellcheck disable=SC2086
[ -z "$cxx" ] || clang-format --dry-run -Werror $cxx
shellcheck scripts/*.sh .ci/run
python scripts/check_budgets.py
python scripts/check_words.py
