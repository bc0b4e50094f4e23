#!/usr/bin/env bash
# Builds the libFuzzer targets and runs each for the given number of seconds (default 600), two at a
# time. Findings go to build/fuzz/findings/<target>/; any finding makes the exit code 1.
set -euo pipefail
cd "$(dirname "$0")/.."
seconds=${1:-600}
cmake --preset fuzz >build/fuzz.log || { cat build/fuzz.log; exit 1; }
ninja -C build/fuzz fuzzers

run_target() {
  local target=$1 name=${1##*/fuzz_}
  local work=build/fuzz/work/$name findings=build/fuzz/findings/$name
  mkdir -p "$work" "$findings"
  if "$target" -max_total_time="$2" -rss_limit_mb=2048 -timeout=10 -artifact_prefix="$findings/" \
    "$work" "fuzz/corpus/$name" >"build/fuzz/$name.log" 2>&1; then
    echo "fuzz $name: $(grep -oE '^Done [0-9]+ runs' "build/fuzz/$name.log"), no finding"
  else
    echo "fuzz $name: FAILED, see build/fuzz/$name.log and $findings" >&2
    return 1
  fi
}
export -f run_target
find build/fuzz/fuzz -maxdepth 1 -type f -name 'fuzz_*' -perm -u+x -print0 |
  xargs -0 -P 2 -I{} bash -c 'run_target "$1" "$2"' _ {} "$seconds"
