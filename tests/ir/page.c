// SPDX-License-Identifier: MIT
//
// Printing, writing and comparing a page.
#include "page.h"

#include <stdbool.h>
#include <string.h>

static int check_page(FILE *page, const char *path) {
    FILE *have = fopen(path, "r");
    if (!have) {
        fprintf(stderr, "%s: cannot be read\n", path);
        return 1;
    }
    rewind(page);
    int a, b;
    unsigned line = 1;
    do {
        a = fgetc(page);
        b = fgetc(have);
        line += a == '\n';
    } while (a == b && a != EOF);
    fclose(have);
    if (a != b)
        fprintf(stderr, "%s:%u: out of date, run `make docs`\n", path, line);
    return a != b;
}

int test_page_main(int argc, char **argv, void (*print)(FILE *f)) {
    bool write = argc == 3 && strcmp(argv[1], "--write") == 0;
    bool check = argc == 3 && strcmp(argv[1], "--check") == 0;
    if (argc != 1 && !write && !check) {
        fprintf(stderr, "usage: %s [--write FILE | --check FILE]\n", argv[0]);
        return 2;
    }
    FILE *f = check ? tmpfile() : write ? fopen(argv[2], "w") : stdout;
    if (!f) {
        fprintf(stderr, "%s: the page cannot be written\n", argv[0]);
        return 1;
    }
    print(f);
    int rc = check ? check_page(f, argv[2]) : 0;
    if (ferror(f) || (f != stdout && fclose(f) != 0))
        rc = 1;
    return rc;
}
