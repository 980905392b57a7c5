// SPDX-License-Identifier: MIT
//
// Element types of ONNX, attribute look-up.
#include "frontend/onnx/reader/model.h"

#include <string.h>

static const struct {
    const char *name;
    uint8_t bits, dtype;
} types[] = {
#define ROW(type, text, n, name) [type] = {text, n, QRN_DTYPE_##name}
    // clang-format off
    ROW(OX_F32, "float32", 32, F32), ROW(OX_U8, "uint8", 8, U8),
    ROW(OX_I8, "int8", 8, I8), ROW(OX_U16, "uint16", 16, U16),
    ROW(OX_I16, "int16", 16, I16), ROW(OX_I32, "int32", 32, I32),
    ROW(OX_I64, "int64", 64, I64), ROW(OX_STRING, "string", 0, COUNT),
    ROW(OX_BOOL, "bool", 8, B8), ROW(OX_F16, "float16", 16, F16),
    ROW(OX_F64, "float64", 64, F64), ROW(OX_U32, "uint32", 32, U32),
    ROW(OX_U64, "uint64", 64, U64), ROW(14, "complex64", 64, COUNT),
    ROW(15, "complex128", 128, COUNT), ROW(OX_BF16, "bfloat16", 16, BF16),
    ROW(17, "float8e4m3fn", 8, COUNT), ROW(18, "float8e4m3fnuz", 8, COUNT),
    ROW(19, "float8e5m2", 8, COUNT), ROW(20, "float8e5m2fnuz", 8, COUNT),
    ROW(OX_U4, "uint4", 4, UQ4), ROW(OX_I4, "int4", 4, SQ4),
    ROW(23, "float4e2m1", 4, COUNT), ROW(24, "float8e8m0", 8, COUNT),
    ROW(25, "uint2", 2, COUNT), ROW(26, "int2", 2, COUNT),
    // clang-format on
};
#undef ROW
#define N_TYPES ((int)(sizeof types / sizeof types[0]))

const char *ox_type_name(int type) {
    return type > 0 && type < N_TYPES && types[type].name ? types[type].name : "unknown type";
}

unsigned ox_type_bits(int type) { return type > 0 && type < N_TYPES ? types[type].bits : 0; }

qrn_dtype ox_type_dtype(int type) {
    return ox_type_bits(type) ? (qrn_dtype)types[type].dtype : QRN_DTYPE_COUNT;
}

int64_t ox_model_opset(const ox_model *m, const char *domain) {
    if (strcmp(domain, "ai.onnx") == 0)
        domain = "";
    for (uint32_t i = 0; i < m->n_opsets; i++)
        if (strcmp(m->opsets[i].domain, domain) == 0)
            return m->opsets[i].version;
    return 0;
}

const ox_attr *ox_attr_find(const ox_node *n, const char *name) {
    for (uint32_t i = 0; i < n->n_attrs; i++)
        if (strcmp(n->attrs[i].name, name) == 0)
            return &n->attrs[i];
    return NULL;
}

int64_t ox_attr_int(const ox_node *n, const char *name, int64_t fallback) {
    const ox_attr *a = ox_attr_find(n, name);
    return a && a->type == OX_ATTR_INT ? a->i : fallback;
}

float ox_attr_float(const ox_node *n, const char *name, float fallback) {
    const ox_attr *a = ox_attr_find(n, name);
    return a && a->type == OX_ATTR_FLOAT ? a->f : fallback;
}

const char *ox_attr_string(const ox_node *n, const char *name, const char *fallback) {
    const ox_attr *a = ox_attr_find(n, name);
    return a && a->type == OX_ATTR_STRING ? a->s : fallback;
}

uint32_t ox_attr_ints(const ox_node *n, const char *name, int64_t *dst, uint32_t max) {
    const ox_attr *a = ox_attr_find(n, name);
    if (!a || a->type != OX_ATTR_INTS || a->n > max)
        return 0;
    memcpy(dst, a->ints, a->n * sizeof *dst);
    return a->n;
}
