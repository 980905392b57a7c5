// SPDX-License-Identifier: MIT
//
// How the lines of an input list become executions: a file holds a whole tensor, or one element of
// its batch, in which case so many lines are put together.
#ifndef QRN_TOOLS_SDK_LIST_BATCH_H
#define QRN_TOOLS_SDK_LIST_BATCH_H

#include "tools/sdk/inference.h"

typedef struct qs_batching {
    size_t lines;    // of the list
    size_t together; // lines of one execution
    size_t groups;   // executions of one pass
} qs_batching;

// By the sizes of the first line's files. QT_EXIT_OK or another code after a message that names
// the file and the sizes that fit.
int qs_batching_of(const qs_list *l, const qs_set *s, const bool *native, qs_batching *out);
// Fills the inputs of execution `group`.
qrn_status qs_batch_load(const qs_list *l, const qs_batching *b, size_t group, const bool *native,
                         qs_set *s);

#endif
