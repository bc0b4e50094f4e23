#!/usr/bin/env bash
# clang-tidy over all sources, two at a time. Results are cached by the content that was checked, so a second run
# looks only at what changed.
set -euo pipefail
cd "$(dirname "$0")/.."
cmake --preset tidy >build/tidy.log || { cat build/tidy.log; exit 1; }
# Generated protobuf sources must exist before anything that includes them can be read.
ninja -C build/tidy -t targets all | sed -n 's/^\(.*\.pb\.cc\): .*/\1/p' | xargs -r ninja -C build/tidy >/dev/null
mkdir -p build/tidy/checked
headers=$(git ls-files '*.h' '*.proto' .clang-tidy | xargs sha256sum | sha256sum)

check_file() {
  local key
  key=$(echo "$2" | cat - "$1" | sha256sum | cut -d' ' -f1)
  [ -e "build/tidy/checked/$key" ] && return
  .venv/bin/clang-tidy --quiet --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-deprecated-declarations -p build/tidy --warnings-as-errors='*' "$1" 2>/dev/null && touch "build/tidy/checked/$key"
}
export -f check_file
git ls-files 'amct/*.cpp' 'cli/*.cpp' | xargs -P 2 -I{} bash -c 'check_file "$1" "$2"' _ {} "$headers"
echo "clang-tidy: no warnings"
