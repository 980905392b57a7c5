// SPDX-License-Identifier: MIT
//
// Values of GGUF's metadata as numbers, texts and lists. The file was checked when it was opened;
// what is checked here is that a value has the type and range that the caller can use.
#include "frontend/llm/gguf.h"

#include <math.h>
#include <string.h>

static bool is_int(ql_gguf_kind k) {
    return k <= QL_GGUF_I32 || k == QL_GGUF_U64 || k == QL_GGUF_I64;
}

static bool is_float(ql_gguf_kind k) { return k == QL_GGUF_F32 || k == QL_GGUF_F64; }

// Both of an integer of any type: its low 64 bits, and whether it is below 0.
static uint64_t int_of(const ql_gguf_value *v, bool *negative) {
    union {
        uint8_t u8;
        int8_t i8;
        uint16_t u16;
        int16_t i16;
        uint32_t u32;
        int32_t i32;
        uint64_t u64;
        int64_t i64;
    } x = {.u64 = 0};
    int64_t i = 0;
#define CASE(name, member)                                                                         \
    case QL_GGUF_##name:                                                                           \
        memcpy(&x, v->at, sizeof x.member);                                                        \
        i = (int64_t)x.member;                                                                     \
        break;
    switch (v->kind) {
        CASE(U8, u8)
        CASE(I8, i8)
        CASE(U16, u16)
        CASE(I16, i16)
        CASE(U32, u32)
        CASE(I32, i32)
        CASE(U64, u64)
        CASE(I64, i64)
    default:
        break;
    }
#undef CASE
    *negative = i < 0 && v->kind != QL_GGUF_U64;
    return (uint64_t)i;
}

double ql_gguf_number(const ql_gguf_value *v) {
    float f = 0;
    double d = 0;
    bool negative = false;
    if (v->kind == QL_GGUF_BOOL)
        return v->at[0] != 0;
    if (v->kind == QL_GGUF_F32) {
        memcpy(&f, v->at, sizeof f);
        return (double)f;
    }
    if (v->kind == QL_GGUF_F64) {
        memcpy(&d, v->at, sizeof d);
        return d;
    }
    uint64_t i = int_of(v, &negative);
    return negative ? (double)(int64_t)i : (double)i;
}

bool ql_gguf_next(ql_gguf_value *rest, ql_gguf_value *out) {
    static const uint8_t bytes[] = {
#define X(name, number, bytes, text) [number] = bytes,
        QL_GGUF_KINDS(X)
#undef X
    };
    if (rest->kind != QL_GGUF_ARRAY || !rest->n)
        return false;
    ql_gguf_value e = {.kind = rest->element, .at = rest->at}, inner;
    rest->n--;
    rest->at += bytes[e.kind];
    if (e.kind == QL_GGUF_STRING) {
        memcpy(&e.n, e.at, sizeof e.n);
        e.at += sizeof e.n;
        rest->at = e.at + e.n;
    } else if (e.kind == QL_GGUF_ARRAY) {
        uint32_t element = 0;
        memcpy(&element, e.at, sizeof element);
        memcpy(&e.n, e.at + sizeof element, sizeof e.n);
        e.element = (ql_gguf_kind)element;
        e.at += sizeof element + sizeof e.n;
        ql_gguf_value past = e;
        while (ql_gguf_next(&past, &inner)) {}
        rest->at = past.at;
    }
    *out = e;
    return true;
}

// A key that must be there; `is` says which types have what the caller wants, in words `what`.
static qrn_status require(const ql_gguf *g, const char *key, bool (*is)(ql_gguf_kind),
                          const char *what, const ql_gguf_value **out) {
    const ql_gguf_value *v = ql_gguf_find(g, key);
    if (!v)
        return QRN_FAIL(QRN_E_NOT_FOUND, "%.500s: no key '%s'", g->path, key);
    if (!is(v->kind))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' is of type %s; expected %s", g->path, key,
                        ql_gguf_kind_name(v->kind), what);
    *out = v;
    return QRN_OK;
}

static bool is_text(ql_gguf_kind k) { return k == QL_GGUF_STRING; }

static bool is_bool(ql_gguf_kind k) { return k == QL_GGUF_BOOL; }

static bool is_array(ql_gguf_kind k) { return k == QL_GGUF_ARRAY; }

qrn_status ql_gguf_uint(const ql_gguf *g, const char *key, uint64_t most, uint64_t *out) {
    const ql_gguf_value *v = NULL;
    bool negative = false;
    QRN_TRY(require(g, key, is_int, "an integer", &v));
    uint64_t x = int_of(v, &negative);
    if (negative)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' is %lld; expected 0 to %llu", g->path, key,
                        (long long)x, (unsigned long long)most);
    if (x > most)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' is %llu; expected 0 to %llu", g->path, key,
                        (unsigned long long)x, (unsigned long long)most);
    *out = x;
    return QRN_OK;
}

qrn_status ql_gguf_float(const ql_gguf *g, const char *key, double *out) {
    const ql_gguf_value *v = NULL;
    QRN_TRY(require(g, key, is_float, "a float", &v));
    double x = ql_gguf_number(v);
    if (!isfinite(x))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' is not a finite number", g->path, key);
    *out = x;
    return QRN_OK;
}

qrn_status ql_gguf_bool(const ql_gguf *g, const char *key, bool *out) {
    const ql_gguf_value *v = NULL;
    QRN_TRY(require(g, key, is_bool, "bool", &v));
    *out = v->at[0] != 0;
    return QRN_OK;
}

qrn_status ql_gguf_text(const ql_gguf *g, const char *key, ql_text *out) {
    const ql_gguf_value *v = NULL;
    QRN_TRY(require(g, key, is_text, "string", &v));
    *out = (ql_text){(const char *)v->at, (size_t)v->n};
    return QRN_OK;
}

// An array of elements that `is` accepts, and room for all of them, of `bytes` each.
static qrn_status begin_list(const ql_gguf *g, const char *key, bool (*is)(ql_gguf_kind),
                             const char *what, size_t bytes, qrn_arena *arena, ql_gguf_value *rest,
                             void *room) {
    const ql_gguf_value *v = NULL;
    QRN_TRY(require(g, key, is_array, "array", &v));
    if (!is(v->element))
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' is an array of %s; expected %s", g->path,
                        key, ql_gguf_kind_name(v->element), what);
    if (v->n > UINT32_MAX)
        return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' has %llu elements", g->path, key,
                        (unsigned long long)v->n);
    void *p = qrn_arena_reserve(arena, (size_t)v->n * bytes);
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "%.500s: no memory for key '%s'", g->path, key);
    memcpy(room, &p, sizeof p);
    *rest = *v;
    return QRN_OK;
}

qrn_status ql_gguf_texts(const ql_gguf *g, const char *key, qrn_arena *arena, ql_text **out,
                         uint32_t *n) {
    ql_gguf_value rest, e;
    ql_text *list = NULL;
    QRN_TRY(begin_list(g, key, is_text, "string", sizeof *list, arena, &rest, &list));
    *n = (uint32_t)rest.n;
    for (uint32_t i = 0; ql_gguf_next(&rest, &e); i++)
        list[i] = (ql_text){(const char *)e.at, (size_t)e.n};
    *out = list;
    return QRN_OK;
}

qrn_status ql_gguf_ints(const ql_gguf *g, const char *key, qrn_arena *arena, int64_t **out,
                        uint32_t *n) {
    ql_gguf_value rest, e;
    int64_t *list = NULL;
    bool negative;
    QRN_TRY(begin_list(g, key, is_int, "integers", sizeof *list, arena, &rest, &list));
    *n = (uint32_t)rest.n;
    for (uint32_t i = 0; ql_gguf_next(&rest, &e); i++) {
        list[i] = (int64_t)int_of(&e, &negative);
        if (!negative && list[i] < 0)
            return QRN_FAIL(QRN_E_BINARY, "%.500s: key '%s' has an element beyond int64", g->path,
                            key);
    }
    *out = list;
    return QRN_OK;
}
