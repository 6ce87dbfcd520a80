#!/usr/bin/env bash
# Copyright (c) the project's authors. BSD-3-Clause; see LICENSE.
# Fuzzes each target for SECONDS; all targets, if none is named. README.md describes the targets.
#
#   bash test/fuzz/run.sh [--seed=N] [--record] [--brief] SECONDS [TARGET...]
#
# --seed: another seed gives other inputs (default: one of the clock). --record: adds the executions to
# test/fuzz/executions.json. --brief: the corpus and a fixed number of changed inputs, always the same ones, as .ci/run does;
# without SECONDS. Inputs that end a target are in build/fuzz-findings, and it ends with 1.
# Needs an environment that test/run.sh has made.
source "$(dirname "$0")/../../.ci/environment.sh"
cd "$root"

seed=$(date +%s)
record=
brief=
while (($#)) && [[ $1 == --* ]]; do
  case $1 in
    --seed=*) seed=${1#*=} ;;
    --record) record=1 ;;
    --brief) brief=1 ;;
    *) echo "run.sh: no option $1" >&2; exit 2 ;;
  esac
  shift
done
seconds=3600
if [ -z "$brief" ]; then
  (($#)) || { sed -n '3,11s/^# \{0,1\}//p' "$0" >&2; exit 2; }
  seconds=$1
  shift
fi
known=(program kernels c_api data_file bundle tokenizer xnnpack packed_file readers)
targets=("$@")
is_named=${1:+1}
((${#targets[@]})) || targets=("${known[@]}")

build=$root/build/sanitized
make_venv
configure() {
  cmake -S . -B "$build" "${sanitized_options[@]}" -DEXECUTORCH_BUILD_XNNPACK=AUTO -DEXECUTORCH_BUILD_TESTS=ON >/dev/null
}
# test/run.sh builds without XNNPACK, which takes long to compile with sanitizers (once a machine).
if [ ! -f "$build/build.ninja" ] || { [ -z "$brief" ] && ! grep -q xnnpack_fuzzer "$build/build.ninja"; }; then
  configure
fi
findings=$root/build/fuzz-findings
# In memory if possible: packed_file writes a file for each input.
private=$(mktemp -d -p /dev/shm 2>/dev/null || mktemp -d)
trap 'rm -r "$private"' EXIT
# Targets must not use the user's key of packed weights; the compiler's cache stays the user's.
apart=(env XDG_CACHE_HOME="$private" TMPDIR="$private")

# corpus_of TARGET: prints the files that it starts from.
corpus_of() {
  local seeds=()
  case $1 in
    program | c_api) seeds=(test/data/demo test/data/peer test/data/int8) ;;
    xnnpack) seeds=(test/data/xnnpack) ;;
  esac
  ((${#seeds[@]} == 0)) || find "${seeds[@]}" -name '*.pte'
  [ "$1" != data_file ] || find test/data -name '*.ptd'
  [ "$1" != bundle ] || find test/data -name '*.bpte'
  [ "$1" != c_api ] || echo test/fuzz/corpus/program
  [ ! -d "test/fuzz/corpus/$1" ] || echo "test/fuzz/corpus/$1"
}

# The number of changed inputs that .ci/run has time for.
runs_of() {
  case $1 in
    kernels) echo 6000 ;;
    program | c_api | xnnpack | data_file | bundle) echo 3000 ;;
    *) echo 1000 ;;
  esac
}

results=$private/results
touch "$results"
failed=0
for target in "${targets[@]}"; do
  # A brief run counts executions, so that it is the same on every machine.
  limits=(--seconds="$seconds" --seed="$seed")
  [ -z "$brief" ] || limits=(--seconds=3600 --seed=1 --runs="$(runs_of "$target")")
  if [ "$target" = readers ]; then
    "${apart[@]}" python test/fuzz/fuzz_readers.py "${limits[@]}" --findings="$findings/readers" | tee "$private/out" || failed=1
  else
    if ! cmake --build "$build" --parallel 2 --target "${target}_fuzzer" >"$private/log" 2>&1; then
      if grep -q "unknown target" "$private/log"; then
        echo "$target: not in this build (no XNNPACK)"
        [ -z "$is_named" ] || failed=1
        continue
      fi
      cat "$private/log" >&2
      exit 1
    fi
    mapfile -t corpus < <(corpus_of "$target")
    "${apart[@]}" "$build/fuzz/${target}_fuzzer" "${limits[@]}" --findings="$findings/$target" --keep="$private/kept-$target" "${corpus[@]}" | tee "$private/out" || failed=1
  fi
  sed -n "s/^\S*: \([0-9]\+\) executions.*/$target \1/p" "$private/out" >>"$results"
done

if [ -n "$record" ]; then
  python - "$results" test/fuzz/executions.json <<'PY'
import datetime, json, pathlib, sys

results, path = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
totals = json.loads(path.read_text()) if path.exists() else {}
for line in results.read_text().splitlines():
    target, count = line.split()
    known = totals.get(target, {"executions": 0})
    totals[target] = {"executions": known["executions"] + int(count), "last": datetime.date.today().isoformat()}
path.write_text(json.dumps(totals, indent=2, sort_keys=True) + "\n")
PY
fi
exit "$failed"
