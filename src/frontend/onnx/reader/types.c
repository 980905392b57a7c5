// SPDX-License-Identifier: MIT
//
// Element types of ONNX, attribute look-up.
#include "frontend/onnx/reader/model.h"

#include <string.h>

static const struct {
    const char *name;
    unsigned bits;
} types[] = {
    [OX_F32] = {"float32", 32},
    [OX_U8] = {"uint8", 8},
    [OX_I8] = {"int8", 8},
    [OX_U16] = {"uint16", 16},
    [OX_I16] = {"int16", 16},
    [OX_I32] = {"int32", 32},
    [OX_I64] = {"int64", 64},
    [OX_STRING] = {"string", 0},
    [OX_BOOL] = {"bool", 8},
    [OX_F16] = {"float16", 16},
    [OX_F64] = {"float64", 64},
    [OX_U32] = {"uint32", 32},
    [OX_U64] = {"uint64", 64},
    [OX_COMPLEX64] = {"complex64", 64},
    [OX_COMPLEX128] = {"complex128", 128},
    [OX_BF16] = {"bfloat16", 16},
    [OX_F8E4M3FN] = {"float8e4m3fn", 8},
    [OX_F8E4M3FNUZ] = {"float8e4m3fnuz", 8},
    [OX_F8E5M2] = {"float8e5m2", 8},
    [OX_F8E5M2FNUZ] = {"float8e5m2fnuz", 8},
    [OX_U4] = {"uint4", 4},
    [OX_I4] = {"int4", 4},
    [OX_F4E2M1] = {"float4e2m1", 4},
    [OX_F8E8M0] = {"float8e8m0", 8},
    [OX_U2] = {"uint2", 2},
    [OX_I2] = {"int2", 2},
};
#define N_TYPES ((int)(sizeof types / sizeof types[0]))

const char *ox_type_name(int type) {
    return type > 0 && type < N_TYPES && types[type].name ? types[type].name : "unknown type";
}

unsigned ox_type_bits(int type) { return type > 0 && type < N_TYPES ? types[type].bits : 0; }

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
