// SPDX-License-Identifier: MIT
//
// Recorder of error pairs; see pairs.h.
#include "pairs.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Opened with the first pair; every line is flushed, so a crash loses nothing.
static FILE *notes(void) {
    static FILE *file;
    const char *dir = getenv("QUERN_PAIRS_DIR");
    if (file || !dir)
        return file;
    char path[4096];
    mkdir(dir, 0777);
    // A program may run several times, each time with another environment.
    snprintf(path, sizeof path, "%s/%s-%d.pairs", dir, program_invocation_short_name, getpid());
    file = fopen(path, "w");
    return file;
}

void pair_expect(const char *function, const char *name, Qnn_ErrorHandle_t want,
                 Qnn_ErrorHandle_t got, const char *file, int line) {
    if (got != want) {
        print_error("%s:%d: %s: got %llu, expected %s (%llu)\n", file, line,
                    function ? function : "call", (unsigned long long)got, name,
                    (unsigned long long)want);
        _fail(file, line);
    }
    if (function && notes()) {
        fprintf(notes(), "%s\t%llu\n", function, (unsigned long long)want);
        fflush(notes());
    }
}
