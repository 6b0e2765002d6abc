# The environment of make's recipes, which source this file at the root of a checkout.
# shellcheck shell=sh
export PATH="$PWD/.venv/bin:$PATH"
# As in tests/conftest.py: what was compiled with another launcher is compiled again.
if command -v ccache >/dev/null 2>&1; then
  export CMAKE_CXX_COMPILER_LAUNCHER="${CMAKE_CXX_COMPILER_LAUNCHER-ccache}" CCACHE_DIR="${CCACHE_DIR-$PWD/build/ccache}"
  export CCACHE_BASEDIR="${CCACHE_BASEDIR-$PWD}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR-1}"
  export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS-locale}"  # `ckgen build` sets LC_ALL, a test's `make` does not
fi
