// SPDX-License-Identifier: MIT
//
// Runs the generated ABI checks and prints how many rows of each fact table and how many single
// checks they covered. Compiled as C11 and as C++17 (main.cpp includes this file).

#include "checks.h"

#define UNIT(name) LINKAGE void abi_##name(struct abi_count *count);
#define TABLE(name, checked, rows)
#include "units.def"
#undef UNIT
#undef TABLE

int main(void) {
    struct abi_count count = {0, 0, 0};
#define UNIT(name) abi_##name(&count);
#define TABLE(name, checked, rows) printf("abi: %-12s %4d of %4d rows\n", #name, checked, rows);
#include "units.def"
    if (count.failed != 0) {
        printf("abi: %d checks failed\n", count.failed);
        return 1;
    }
    printf("abi: %d checks passed\n", count.fixed + count.passed);
    return 0;
}
