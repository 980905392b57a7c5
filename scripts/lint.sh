#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
#
# lint.sh <clang-tidy> <build dir>: clang-tidy over the sources that the build compiles.
set -euo pipefail
cd "$(dirname "$0")/.."
tidy=$1
build=$2
# Files of the other architecture are not in the compile commands.
mapfile -t files < <(python3 - "$build/compile_commands.json" <<'PY'
import json, os, sys
for entry in json.load(open(sys.argv[1])):
    path = os.path.relpath(entry["file"])
    if path.startswith("src/"):
        print(path)
PY
)
[ ${#files[@]} -gt 0 ] || { echo "lint: nothing to check"; exit 0; }
printf '%s\0' "${files[@]}" | xargs -0 -n 4 -P "$(nproc)" "$tidy" -p "$build" --quiet
