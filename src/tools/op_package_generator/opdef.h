// SPDX-License-Identifier: MIT
//
// Definitions of ops from XML configurations, and the packages that they make: one for each backend
// that an op of the collection supports.
#ifndef QRN_TOOLS_OP_PACKAGE_GENERATOR_OPDEF_H
#define QRN_TOOLS_OP_PACKAGE_GENERATOR_OPDEF_H

#include "base/arena.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum qg_backend { QG_CPU, QG_GPU, QG_HTP, QG_N_BACKENDS } qg_backend;
extern const char *const qg_backend_names[QG_N_BACKENDS];

#define QG_RANK_ANY 0u
#define QG_RANK_SCALAR 9u // of a parameter

typedef struct qg_operand {
    const char *name;
    bool mandatory, repeated;
    uint32_t rank;      // QG_RANK_*, or 1 to 5
    const char **types; // names of Qnn_DataType_t; none: any
    uint32_t n_types;
    const char *fallback; // a parameter's default as it stands in the file, or NULL
    const char **enums;   // a parameter's values by name; NULL: none
    uint32_t n_enums;
} qg_operand;

typedef struct qg_operands {
    qg_operand *items;
    uint32_t n;
} qg_operands;

typedef struct qg_op {
    const char *name, *about; // about: one line, or ""
    qg_operands inputs, outputs, params;
    uint32_t backends; // bit for each qg_backend
} qg_op;

typedef struct qg_package {
    const char *name;
    qg_backend backend;
    qg_op *ops; // operands as they are on this backend
    uint32_t n_ops;
    const char **configs; // files that it came from
    uint32_t n_configs;
} qg_package;

typedef struct qg_packages {
    qg_package *items;
    uint32_t n;
} qg_packages;

// Reads the files; collections with the same name become one. Everything lives in the arena.
qrn_status qg_opdef_read(const char *const *paths, size_t n, qrn_arena *a, qg_packages *out);

#endif
