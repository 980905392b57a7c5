// SPDX-License-Identifier: MIT
//
// Parts of reports that several commands print, as text and as JSON.
#ifndef QRN_TOOLS_QUERN_REPORT_H
#define QRN_TOOLS_QUERN_REPORT_H

#include "tools/quern/array.h"
#include "tools/quern/output.h"

// Prints the message of the last failure, behind "path: " unless that is NULL; gives the code back.
int qt_failed(const char *path, int code);
// Prints that there is no memory; QT_EXIT_FAILURE.
int qt_no_memory(void);

// Opens a model; QT_EXIT_OK or another code after a message.
int qt_open_model(const char *path, ox_model **out);
// QT_EXIT_USAGE after a message if an output ends as another kind of file does (`wrong` ends with
// NULL); `writes` says what the command writes.
int qt_check_ending(const char *output, const char *const *wrong, const char *writes);
// An initializer by name; NULL: there is none.
const ox_tensor *qt_find_constant(const ox_graph *g, const char *name);

// A number as JSON has it: null for what is not finite.
json_t *qt_json_number(double v);
json_t *qt_json_shape(unsigned rank, const uint64_t *dims);

// Names of classes, one a line.
typedef struct qt_labels {
    char **lines;
    size_t n;
    char *text;
} qt_labels;
qrn_status qt_labels_read(const char *path, qt_labels *out);
void qt_labels_free(qt_labels *l);

// One output: type, shape, range, and the top_k largest where it looks like scores of classes.
void qt_print_array(const char *name, const qt_array *a, size_t top_k, const qt_labels *labels);
json_t *qt_json_array(const char *name, const qt_array *a, size_t top_k, const qt_labels *labels);

// Rows of a comparison, worst first, at most max_rows (0: all).
typedef struct qt_compared {
    const char *name;
    qt_comparison c;
} qt_compared;
void qt_sort_compared(qt_compared *rows, size_t n);
void qt_print_compared(const char *title, const qt_compared *rows, size_t n, size_t max_rows);
json_t *qt_json_compared(const qt_compared *rows, size_t n);

#endif
