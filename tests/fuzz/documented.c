// SPDX-License-Identifier: MIT
//
// The table of documented errors, and counts of results by function.
#include "documented.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { MAX_PAIRS = 1024 };

static struct {
    char function[64];
    uint64_t code;
} pairs[MAX_PAIRS];
static size_t n_pairs;

enum { FUNCTIONS_MAX = 128 };

static struct {
    const char *function;
    unsigned successes, failures;
} counts[FUNCTIONS_MAX];
static pthread_mutex_t counts_lock = PTHREAD_MUTEX_INITIALIZER; // guards counts

static void count(const char *function, bool success) {
    pthread_mutex_lock(&counts_lock);
    for (size_t i = 0; i < FUNCTIONS_MAX; i++) {
        if (counts[i].function && strcmp(counts[i].function, function) != 0)
            continue;
        counts[i].function = function;
        counts[i].successes += success;
        counts[i].failures += !success;
        break;
    }
    pthread_mutex_unlock(&counts_lock);
}

void documented_print(void) {
    for (size_t i = 0; i < FUNCTIONS_MAX && counts[i].function; i++)
        printf("%-40s %8u succeeded %8u failed\n", counts[i].function, counts[i].successes,
               counts[i].failures);
}

unsigned documented_successes(const char *function) {
    for (size_t i = 0; i < FUNCTIONS_MAX && counts[i].function; i++)
        if (strcmp(counts[i].function, function) == 0)
            return counts[i].successes;
    return 0;
}

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
    count(function, code == QNN_SUCCESS);
    if (code == QNN_SUCCESS || n_pairs == 0)
        return true;
    for (size_t i = 0; i < n_pairs; i++)
        if (pairs[i].code == code && strcmp(pairs[i].function, function) == 0)
            return true;
    return false;
}
