// SPDX-License-Identifier: MIT
//
// The options that context binaries store, by number (options.def).
#ifndef QRN_BINARY_OPTIONS_H
#define QRN_BINARY_OPTIONS_H

#include "binary/binary.h"

typedef enum qrn_bin_graph_key {
#define QRN_GRAPH_OPTION(number, name, field, kind) QRN_BIN_GRAPH_##name = number,
#include "binary/options.def"
#undef QRN_GRAPH_OPTION
} qrn_bin_graph_key;

typedef enum qrn_bin_context_key {
#define QRN_CONTEXT_OPTION(number, name, field, kind) QRN_BIN_CONTEXT_##name = number,
#include "binary/options.def"
#undef QRN_CONTEXT_OPTION
} qrn_bin_context_key;

// Value of an option; 0 when it is not there.
static inline uint64_t qrn_bin_option_get(const qrn_bin_option *list, uint32_t n, uint32_t key) {
    for (uint32_t i = 0; i < n; i++)
        if (list[i].key == key)
            return list[i].value;
    return 0;
}

#endif
