// SPDX-License-Identifier: MIT
//
// The table of documented errors.
#include "documented.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PAIRS = 1024 };

static struct {
    char function[64];
    uint64_t code;
} pairs[MAX_PAIRS];
static size_t n_pairs;

bool documented_read(const char *path) {
    FILE *f = fopen(path, "r");
    char line[512], name[128];
    n_pairs = 0;
    while (f && n_pairs < MAX_PAIRS && fgets(line, sizeof line, f))
        if (line[0] != '#' && sscanf(line, "%63s %127s %" SCNu64, pairs[n_pairs].function, name,
                                     &pairs[n_pairs].code) == 3)
            n_pairs++;
    if (f)
        fclose(f);
    return n_pairs > 0;
}

bool documented(const char *function, Qnn_ErrorHandle_t code) {
    if (code == QNN_SUCCESS || n_pairs == 0)
        return true;
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].code == code && strcmp(pairs[i].function, function) == 0)
            return true;
    return false;
}
