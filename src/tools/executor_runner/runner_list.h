// SPDX-License-Identifier: MIT
//
// The files that qnn_executor_runner reads: lists of inputs, raw inputs, and shapes.
#ifndef QRN_TOOLS_EXECUTOR_RUNNER_RUNNER_LIST_H
#define QRN_TOOLS_EXECUTOR_RUNNER_RUNNER_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct runner_lines {
    char *text;   // owned; lines end with zeros
    char **lines; // into it
    size_t n;
} runner_lines;

// Lines of a text file without LF and CR; false: it cannot be read.
bool runner_lines_read(const char *path, runner_lines *out);
void runner_lines_free(runner_lines *l);

// Splits a line at every blank, in place; the number of parts, of which `most` are stored.
size_t runner_split(char *line, char **parts, size_t most);

// "1, 3, 8" to numbers; false: it is something else or has more than `most`.
bool runner_shape(const char *line, int64_t *dims, size_t most, size_t *n);

// Reads a file of exactly `size` bytes, or of at most that many when it `may_be_short`; false after
// a line on stderr.
bool runner_read(const char *path, void *buffer, size_t size, bool may_be_short);

#endif
