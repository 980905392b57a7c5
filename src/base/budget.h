// SPDX-License-Identifier: MIT
//
// What reading a file may cost in all, so that a small file cannot become a graph that fills the
// machine: loops are unrolled, functions expanded and constants computed while a model is read,
// each of them within the same budget. docs/limits.md says which limits there are; QUERN_LIMITS
// raises them. One budget serves one file and one thread.
#ifndef QRN_BASE_BUDGET_H
#define QRN_BASE_BUDGET_H

#include "base/status.h"

#include <stdint.h>

// X(NAME, word in QUERN_LIMITS, base, more for each node of the file, more for each byte of its
//   constants, what is limited)
#define QRN_COST_LIST(X)                                                                           \
    X(NODES, "nodes", 250000, 16, 0, "nodes (those of loops and functions count each time)")       \
    X(MEMORY, "memory", 256 << 20, 4096, 8, "bytes of names and computed constants")               \
    X(WORK, "work", 100000000, 0, 4, "elements of constants that are computed")

typedef enum qrn_cost {
#define X(name, word, base, node, byte, text) QRN_COST_##name,
    QRN_COST_LIST(X)
#undef X
        QRN_COSTS
} qrn_cost;

#define QRN_TIME_LIMIT_S 600

typedef struct qrn_budget {
    uint64_t most[QRN_COSTS], spent[QRN_COSTS];
    uint64_t end_ns; // of the monotonic clock; UINT64_MAX: never
} qrn_budget;

// A new budget for a file with so many nodes and bytes of constants. QRN_E_CONFIG when QUERN_LIMITS
// is set to something else than limits.
qrn_status qrn_budget_begin(qrn_budget *b, uint64_t n_nodes, uint64_t n_bytes);
// Spends n. QRN_E_UNSUPPORTED, or QRN_E_TIMED_OUT, with a message that names the limit and how to
// raise it.
qrn_status qrn_budget_spend(qrn_budget *b, qrn_cost c, uint64_t n);
uint64_t qrn_budget_left(const qrn_budget *b, qrn_cost c);

// Most bytes of intermediate tensors that one execution of a graph may need: the machine's memory
// unless QUERN_LIMITS says otherwise. A graph that needs more would be granted its memory and be
// killed when it uses it.
qrn_status qrn_limit_run_bytes(uint64_t *most);

typedef struct qrn_limits {
    uint64_t most[QRN_COSTS];
    uint64_t time_s, run_bytes;
} qrn_limits;

// Limits as text, "nodes=2M,memory=1G,time=60": 0 is no limit. Those that are given are changed.
// For tests; the functions above read QUERN_LIMITS so.
qrn_status qrn_limits_parse(const char *text, qrn_limits *l);

#endif
