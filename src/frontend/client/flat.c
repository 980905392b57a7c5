// SPDX-License-Identifier: MIT
//
// The checks of flat.h. Positions are sizes, so sums of a position and a 32-bit offset cannot wrap.
#include "frontend/client/flat.h"

#include <string.h>

static bool broken(qc_flat *f, const char *what) {
    if (!f->error)
        f->error = what;
    return false;
}

static bool holds(const qc_flat *f, size_t at, size_t bytes) {
    return !f->error && at <= f->size && bytes <= f->size - at;
}

static uint64_t load(const qc_flat *f, size_t at, size_t bytes) {
    uint64_t v = 0;
    for (size_t i = 0; i < bytes; i++)
        v |= (uint64_t)f->data[at + i] << (8 * i);
    return v;
}

static bool spend(qc_flat *f, size_t n) {
    if (n > f->budget)
        return broken(f, "it refers to the same parts again and again");
    f->budget -= n;
    return true;
}

static bool open_table(qc_flat *f, size_t at, qc_table *out) {
    if (!holds(f, at, 4))
        return broken(f, "a table lies outside the file");
    int64_t vtable = (int64_t)at - (int32_t)(uint32_t)load(f, at, 4);
    if (vtable < 0 || !holds(f, (size_t)vtable, 4))
        return broken(f, "a vtable lies outside the file");
    size_t v = (size_t)vtable, bytes = load(f, v, 2), table = load(f, v + 2, 2);
    if (bytes < 4 || bytes % 2 || !holds(f, v, bytes))
        return broken(f, "a vtable has an impossible size");
    if (table < 4 || !holds(f, at, table))
        return broken(f, "a table has an impossible size");
    if (!spend(f, 1))
        return false;
    *out = (qc_table){f, at, v, (uint32_t)(bytes - 4) / 2, (uint32_t)table};
    return true;
}

bool qc_flat_root(qc_flat *flat, const void *data, size_t size, qc_table *out) {
    *flat = (qc_flat){.data = data, .size = size, .budget = 4 * size + 64};
    if (size < 8 || size > INT32_MAX)
        return broken(flat, "its size is not that of a FlatBuffer");
    return open_table(flat, load(flat, 0, 4), out);
}

// Position of a field; 0: absent.
static size_t field_at(const qc_table *t, unsigned field, size_t bytes) {
    if (t->flat->error || field >= t->n_fields)
        return 0;
    size_t offset = load(t->flat, t->vtable + 4 + 2 * (size_t)field, 2);
    if (offset == 0)
        return 0;
    if (offset < 4 || offset + bytes > t->bytes) {
        broken(t->flat, "a field lies outside its table");
        return 0;
    }
    return t->at + offset;
}

uint64_t qc_flat_u64(const qc_table *t, unsigned field, uint64_t absent) {
    size_t at = field_at(t, field, 8);
    return at ? load(t->flat, at, 8) : absent;
}

int64_t qc_flat_i64(const qc_table *t, unsigned field, int64_t absent) {
    return (int64_t)qc_flat_u64(t, field, (uint64_t)absent);
}

uint32_t qc_flat_u32(const qc_table *t, unsigned field, uint32_t absent) {
    size_t at = field_at(t, field, 4);
    return at ? (uint32_t)load(t->flat, at, 4) : absent;
}

int32_t qc_flat_i32(const qc_table *t, unsigned field, int32_t absent) {
    return (int32_t)qc_flat_u32(t, field, (uint32_t)absent);
}

uint8_t qc_flat_u8(const qc_table *t, unsigned field, uint8_t absent) {
    size_t at = field_at(t, field, 1);
    return at ? t->flat->data[at] : absent;
}

static double as_double(uint64_t bits) {
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

double qc_flat_f64(const qc_table *t, unsigned field, double absent) {
    size_t at = field_at(t, field, 8);
    return at ? as_double(load(t->flat, at, 8)) : absent;
}

static float as_float(uint32_t bits) {
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

float qc_flat_f32(const qc_table *t, unsigned field, float absent) {
    size_t at = field_at(t, field, 4);
    return at ? as_float((uint32_t)load(t->flat, at, 4)) : absent;
}

// Where a reference leads; 0: absent.
static size_t follow(const qc_table *t, unsigned field) {
    size_t at = field_at(t, field, 4);
    return at ? at + load(t->flat, at, 4) : 0;
}

bool qc_flat_table(const qc_table *t, unsigned field, qc_table *out) {
    size_t at = follow(t, field);
    return at && open_table(t->flat, at, out);
}

bool qc_flat_vector(const qc_table *t, unsigned field, size_t bytes, qc_vector *out) {
    qc_flat *f = t->flat;
    *out = (qc_vector){f, 0, 0};
    size_t at = follow(t, field);
    if (!at)
        return false;
    if (!holds(f, at, 4))
        return broken(f, "a vector lies outside the file");
    uint64_t n = load(f, at, 4);
    if (!holds(f, at + 4, n * bytes))
        return broken(f, "a vector ends outside the file");
    if (bytes > 1 && !spend(f, n)) // bytes are never visited one by one
        return false;
    *out = (qc_vector){f, at + 4, (uint32_t)n};
    return true;
}

const char *qc_flat_text(const qc_table *t, unsigned field, const char *absent) {
    qc_vector v;
    if (!qc_flat_vector(t, field, 1, &v))
        return absent;
    const char *text = (const char *)t->flat->data + v.at;
    if (!holds(t->flat, v.at, (size_t)v.n + 1) || text[v.n] || memchr(text, 0, v.n)) {
        broken(t->flat, "a text does not end where it should");
        return absent;
    }
    return text;
}

bool qc_vector_table(const qc_vector *v, uint32_t i, qc_table *out) {
    size_t at = v->at + 4 * (size_t)i;
    return !v->flat->error && open_table(v->flat, at + load(v->flat, at, 4), out);
}

uint8_t qc_vector_u8(const qc_vector *v, uint32_t i) { return v->flat->data[v->at + i]; }

int32_t qc_vector_i32(const qc_vector *v, uint32_t i) {
    return (int32_t)(uint32_t)load(v->flat, v->at + 4 * (size_t)i, 4);
}

uint64_t qc_vector_u64(const qc_vector *v, uint32_t i) {
    return load(v->flat, v->at + 8 * (size_t)i, 8);
}

double qc_vector_f64(const qc_vector *v, uint32_t i) { return as_double(qc_vector_u64(v, i)); }

float qc_vector_f32(const qc_vector *v, uint32_t i) {
    return as_float((uint32_t)load(v->flat, v->at + 4 * (size_t)i, 4));
}
