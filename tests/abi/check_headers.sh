#!/bin/sh
# SPDX-License-Identifier: MIT
#
# usage: check_headers.sh INCLUDE_DIR CC CXX
# Each public header must compile on its own, twice in a row, as C11 and as C++17 without a warning.
include=$1 cc=$2 cxx=$3 n=0 failed=0
flags="-Wall -Wextra -Wundef -Werror -pedantic -fsyntax-only -I$include/QNN -I$include"
for header in $(cd "$include" && find QNN Quern -name '*.h' | sed 's,^QNN/,,' | LC_ALL=C sort); do
    # The typedef keeps a header of macros from leaving an empty translation unit.
    source=$(printf '#include "%s"\n#include "%s"\ntypedef int not_empty;\n' "$header" "$header")
    printf '%s\n' "$source" | $cc -std=c11 -Wstrict-prototypes $flags -x c - ||
        failed=$((failed + 1))
    printf '%s\n' "$source" | $cxx -std=c++17 $flags -x c++ - || failed=$((failed + 1))
    n=$((n + 2))
done
echo "abi: $((n - failed)) of $n header compilations passed"
[ "$n" -gt 0 ] && [ "$failed" -eq 0 ]
