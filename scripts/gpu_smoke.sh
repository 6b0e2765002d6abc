#!/usr/bin/env bash
# Verify a library for platform nvidia on this machine's GPU: ckgen smoke, tests/gpu/test_nvidia.py, compute-sanitizer.
#   scripts/gpu_smoke.sh build/ci/nvidia/libckgen_conv.so | generated [--allow-uncovered]
# A generated tree is built first. With --allow-uncovered, problems that no instance takes are only counted, for a
# library of few instances. Logs go to $OUT (default build/gpu); the exit code is 0 if all steps pass. A step that hangs
# is ended after $STEP_SECONDS (default 1800); no step fails for being slow.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
what=${1:?use: scripts/gpu_smoke.sh LIBRARY|TREE [--allow-uncovered]}
covering=("${@:2}")
out=${OUT:-build/gpu}
python=${PYTHON:-python3}
mkdir -p "$out"
failed=0

# step NAME COMMAND...: run the command, write its output to NAME.log and show the end of it.
step() {
  local name=$1 begin=$SECONDS code=0
  shift
  timeout "${STEP_SECONDS:-1800}" "$@" >"$out/$name.log" 2>&1 || code=$?
  [ "$code" = 0 ] || failed=1
  printf '== %s: exit %s after %s s\n' "$name" "$code" "$((SECONDS - begin))"
  tail -n 6 "$out/$name.log"
}

# shellcheck disable=SC2329 # step calls it through bash -c
build() {
  cmake -S "$what" -B build/gpu-build -DCKGEN_PLATFORM=nvidia -DCMAKE_BUILD_TYPE=Release -DGPU_TARGETS="${GPU_TARGETS:-sm_90a}" \
    && cmake --build build/gpu-build --parallel "$(nproc)"
}

library=$what
if [ -d "$what" ]; then
  export -f build
  export what
  step build bash -c build
  library=build/gpu-build/libckgen_conv.so
fi
[ -f "$library" ] || { echo "there is no $library"; exit 1; }

nvidia-smi --query-gpu=name,driver_version --format=csv,noheader || true
step smoke "$python" -m ckgen smoke --library "$library" "${covering[@]}"
export CKGEN_NVIDIA_LIBRARY=$library
step pytest "$python" -m pytest -q -p no:cacheprovider tests/gpu/test_nvidia.py

# Run every instance at least once, on tiny problems: the tools slow a kernel down a hundredfold.
few=(-m ckgen smoke --library "$library" --problems tiny --split-k 2 --allow-uncovered)
if command -v compute-sanitizer >/dev/null 2>&1; then
  for tool in memcheck racecheck; do
    step "$tool" compute-sanitizer --tool "$tool" --error-exitcode 9 "$python" "${few[@]}"
  done
else
  echo "compute-sanitizer is not on PATH: memcheck and racecheck are left out"
fi
[ "$failed" = 0 ] && echo "gpu_smoke: all well" || echo "gpu_smoke: FAILED, see $out/*.log"
exit "$failed"
