#!/usr/bin/env bash
# Prepare a fresh machine: .venv/ with ckgen and its developer tools, and compilers if apt-get may install them.
set -euo pipefail
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
log=build/setup.log
mkdir -p build
: >"$log"
updated=

fail() { printf 'setup: %s\n' "$1" >&2; tail -n 20 "$log" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }

# apt_install PACKAGE...: install quietly if this is root; returns 1 otherwise, which the caller must accept.
apt_install() {
  [ "$(id -u)" = 0 ] && have apt-get || return 1
  printf 'setup: apt-get install %s\n' "$*"
  local apt=(env DEBIAN_FRONTEND=noninteractive apt-get -qq -o DPkg::Lock::Timeout=60)
  [ -n "$updated" ] || "${apt[@]}" update >>"$log" 2>&1 || true
  updated=yes
  "${apt[@]}" install --no-install-recommends "$@" -y >>"$log" 2>&1
}

missing=()
have g++ || have clang++ || missing+=(g++)
have cmake || missing+=(cmake)
have make || have ninja || missing+=(make)
[ ${#missing[@]} = 0 ] || apt_install "${missing[@]}" || true
have hipcc || have /opt/rocm/bin/hipcc || apt_install hipcc libamdhip64-dev || true
[ -e /usr/include/gtest/gtest.h ] || apt_install libgtest-dev || true # a test builds a program with GTest
have ccache || apt_install ccache || true # tests build the same sources in many folders
have clang++-19 || apt_install clang-19 lld-19 || true # tests compile device code for newer GPUs with it

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' || fail "Python 3.10 or newer is needed (set PYTHON=...)"
if ! "$python" -m venv .venv >>"$log" 2>&1; then
  apt_install python3-venv || fail "python -m venv does not work (Debian: apt-get install python3-venv)"
  "$python" -m venv .venv >>"$log" 2>&1 || fail "python -m venv does not work"
fi
printf 'setup: pip install -e .[dev]\n'
.venv/bin/python -m pip install --quiet --disable-pip-version-check -e '.[dev]' >>"$log" 2>&1 || fail "pip failed"
if ! have cmake; then
  .venv/bin/python -m pip install --quiet --disable-pip-version-check cmake ninja >>"$log" 2>&1 || fail "no cmake"
fi
touch .venv/.ready
