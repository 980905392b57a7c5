// SPDX-License-Identifier: MIT
//
// The frame of a program: header, segments, constants and methods. Field numbers are those of the
// format, docs/executorch.md lists them.
#include "frontend/executorch/internal.h"

#include "base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

// clang-format off
#define ROW(type, dtype, name) [ET_##type] = {name, QRN_DTYPE_##dtype}
static const struct {
    const char *name;
    qrn_dtype dtype;
} types[] = {
    ROW(BYTE, U8, "uint8"), ROW(CHAR, I8, "int8"), ROW(SHORT, I16, "int16"),
    ROW(INT, I32, "int32"), ROW(LONG, I64, "int64"), ROW(HALF, F16, "float16"),
    ROW(FLOAT, F32, "float"), ROW(DOUBLE, F64, "double"), ROW(BOOL, B8, "bool"),
    ROW(QINT8, I8, "qint8"), ROW(QUINT8, U8, "quint8"), ROW(QINT32, I32, "qint32"),
    ROW(BITS16, U16, "bits16"), ROW(BFLOAT16, BF16, "bfloat16"), ROW(UINT16, U16, "uint16"),
    ROW(UINT32, U32, "uint32"), ROW(UINT64, U64, "uint64"),
};
#undef ROW
// clang-format on

static bool is_known(unsigned type) {
    return type < sizeof types / sizeof types[0] && types[type].name;
}

qrn_dtype et_type_dtype(unsigned type) {
    return is_known(type) ? types[type].dtype : QRN_DTYPE_COUNT;
}

size_t et_type_bytes(unsigned type) {
    return is_known(type) ? qrn_dtypes[types[type].dtype].bits / 8 : 0;
}

const char *et_type_name(unsigned type) {
    return is_known(type) ? types[type].name : "unknown type";
}

qrn_status et_broken(const et_reader *r, const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    if (r->method)
        return QRN_FAIL(QRN_E_BINARY, "%s: method '%s': %s", r->p->path, r->method->name, text);
    return QRN_FAIL(QRN_E_BINARY, "%s: %s", r->p->path, text);
}

qrn_status et_flat_status(const et_reader *r) {
    return r->flat.error ? et_broken(r, "broken file: %s", r->flat.error) : QRN_OK;
}

qrn_status et_room(const et_reader *r, size_t n, size_t bytes, void *out) {
    size_t total;
    void *p = qrn_mul_size(n, bytes, &total) ? qrn_arena_alloc(r->p->arena, total) : NULL;
    if (!p)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", r->p->path);
    memcpy(out, &p, sizeof p);
    return QRN_OK;
}

qrn_status et_vector_items(et_reader *r, const qc_table *t, unsigned field, size_t elem_bytes,
                           qc_vector *v, size_t bytes, void *out) {
    qc_flat_vector(t, field, elem_bytes, v);
    QRN_TRY(et_flat_status(r));
    return et_room(r, v->n, bytes, out);
}

qrn_status et_read_indices(et_reader *r, const qc_table *t, unsigned field, uint32_t limit,
                           const char *what, const int32_t **out, uint32_t *n) {
    qc_vector v;
    int32_t *items;
    QRN_TRY(et_vector_items(r, t, field, 4, &v, sizeof *items, &items));
    for (uint32_t i = 0; i < v.n; i++) {
        items[i] = qc_vector_i32(&v, i);
        if (items[i] < 0 || (uint32_t)items[i] >= limit)
            return et_broken(r, "%s: value %d, there are %u", what, items[i], limit);
    }
    *out = items;
    *n = v.n;
    return QRN_OK;
}

// --- Frame

typedef struct frame {
    size_t program, segments; // size of the FlatBuffer; where segments begin, 0: there are none
} frame;

static uint64_t u64_at(const uint8_t *p) {
    uint64_t v = 0;
    for (int i = 7; i >= 0; i--)
        v = v << 8 | p[i];
    return v;
}

bool et_is_program(const void *data, size_t size) {
    const char *p = data;
    return size >= 8 && p[4] == 'E' && p[5] == 'T' && p[6] >= '0' && p[6] <= '9' && p[7] >= '0' &&
           p[7] <= '9';
}

static qrn_status read_frame(const et_reader *r, const uint8_t *data, size_t size, frame *out) {
    if (!et_is_program(data, size))
        return et_broken(r, "not an ExecuTorch program");
    if (memcmp(data + 4, "ET12", 4) != 0)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: program format %.4s, expected ET12", r->p->path,
                        (const char *)data + 4);
    *out = (frame){.program = size};
    if (size < 12 || memcmp(data + 8, "eh00", 4) != 0)
        return QRN_OK;
    uint32_t length = size >= 32 ? (uint32_t)(u64_at(data + 8) >> 32) : 0;
    if (length < 24 || size < 8 + (size_t)length)
        return et_broken(r, "the extended header has %u bytes, expected at least 24", length);
    uint64_t program = u64_at(data + 16), base = u64_at(data + 24);
    if (program > size || base > size || (base && base < program))
        return et_broken(r,
                         "the header has a program of %llu bytes and segments at %llu, but the "
                         "file has %zu bytes; is it cut off?",
                         (unsigned long long)program, (unsigned long long)base, size);
    uint64_t bytes = length >= 32 && size >= 40 ? u64_at(data + 32) : 0;
    if (base && bytes > size - base)
        return et_broken(r,
                         "segments of %llu bytes at %llu, but the file has %zu bytes; is it "
                         "cut off?",
                         (unsigned long long)bytes, (unsigned long long)base, size);
    *out = (frame){.program = (size_t)program, .segments = (size_t)base};
    return QRN_OK;
}

static qrn_status read_segments(et_reader *r, const uint8_t *data, size_t size, size_t base) {
    qc_vector v;
    qc_flat_vector(&r->root, 4, 4, &v);
    QRN_TRY(et_room(r, v.n, sizeof *r->segments, &r->segments));
    size_t room = base ? size - base : 0;
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table t;
        if (!qc_vector_table(&v, i, &t))
            break;
        uint64_t offset = qc_flat_u64(&t, 0, 0), bytes = qc_flat_u64(&t, 1, 0);
        if (bytes && (offset > room || bytes > room - offset))
            return et_broken(r,
                             "segment %u: %llu bytes at %llu, there are %zu; is the file cut off?",
                             i, (unsigned long long)bytes, (unsigned long long)offset, room);
        r->segments[i] = (et_range){bytes ? data + base + offset : data, (size_t)bytes};
    }
    r->p->n_segments = v.n;
    return et_flat_status(r);
}

// The parts of a segment, each up to its end: offsets say where a part begins only.
static qrn_status read_parts(et_reader *r, const qc_table *t, et_range **out, uint32_t *n) {
    qc_vector v;
    qc_flat_vector(t, 1, 8, &v);
    uint32_t segment = qc_flat_u32(t, 0, 0);
    QRN_TRY(et_flat_status(r));
    if (v.n && segment >= r->p->n_segments)
        return et_broken(r, "constants in segment %u, there are %u", segment, r->p->n_segments);
    QRN_TRY(et_room(r, v.n, sizeof **out, out));
    for (uint32_t i = 0; i < v.n; i++) {
        et_range s = r->segments[segment];
        uint64_t offset = qc_vector_u64(&v, i);
        if (offset > s.bytes)
            return et_broken(r, "constant %u: offset %llu in a segment of %zu bytes", i,
                             (unsigned long long)offset, s.bytes);
        (*out)[i] = (et_range){s.data + offset, s.bytes - (size_t)offset};
    }
    *n = v.n;
    return QRN_OK;
}

// Constants lie in a segment, or (older files) in the FlatBuffer.
static qrn_status read_constants(et_reader *r) {
    qc_table t;
    qc_vector v;
    if (qc_flat_table(&r->root, 5, &t)) {
        QRN_TRY(read_parts(r, &t, &r->constants, &r->n_constants));
        if (r->n_constants)
            return QRN_OK;
    }
    QRN_TRY(et_vector_items(r, &r->root, 2, 4, &v, sizeof *r->constants, &r->constants));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_vector bytes;
        if (!qc_vector_table(&v, i, &t))
            break;
        qc_flat_vector(&t, 0, 1, &bytes);
        r->constants[i] = (et_range){r->flat.data + bytes.at, bytes.n};
    }
    r->n_constants = v.n;
    return et_flat_status(r);
}

// --- Methods

static qrn_status read_buffers(et_reader *r, const qc_table *plan) {
    qc_vector v;
    qc_flat_vector(plan, 8, 8, &v);
    QRN_TRY(et_flat_status(r));
    uint64_t *sizes;
    QRN_TRY(et_room(r, v.n, sizeof *sizes, &sizes));
    for (uint32_t i = 1; i < v.n; i++) { // entry 0 stands for memory that is not planned
        sizes[i - 1] = qc_vector_u64(&v, i);
        if (sizes[i - 1] > INT64_MAX)
            return et_broken(r, "buffer %u has a negative size", i);
    }
    r->method->buffers = sizes;
    r->method->n_buffers = v.n ? v.n - 1 : 0;
    return QRN_OK;
}

static qrn_status read_method(et_reader *r, const qc_table *plan, et_method_def *m) {
    m->name = qc_flat_text(plan, 0, "");
    r->method = m;
    QRN_TRY(et_flat_status(r));
    QRN_TRY(read_buffers(r, plan));
    QRN_TRY(et_read_values(r, plan));
    QRN_TRY(et_read_indices(r, plan, 3, m->n_values, "inputs", &m->inputs, &m->n_inputs));
    QRN_TRY(et_read_indices(r, plan, 4, m->n_values, "outputs", &m->outputs, &m->n_outputs));
    QRN_TRY(et_read_code(r, plan));
    r->method = NULL;
    return QRN_OK;
}

static qrn_status read_methods(et_reader *r) {
    qc_vector v;
    et_method_def *methods;
    qc_flat_vector(&r->root, 1, 4, &v);
    QRN_TRY(et_flat_status(r));
    if (v.n == 0)
        return et_broken(r, "the program has no methods");
    QRN_TRY(et_room(r, v.n, sizeof *methods, &methods));
    for (uint32_t i = 0; i < v.n; i++) {
        qc_table plan;
        if (!qc_vector_table(&v, i, &plan))
            return et_flat_status(r);
        QRN_TRY(read_method(r, &plan, &methods[i]));
    }
    r->p->methods = methods;
    r->p->n_methods = v.n;
    return QRN_OK;
}

static qrn_status read_program(et_program *p, const uint8_t *data, size_t size) {
    et_reader r = {.p = p};
    frame f = {0};
    QRN_TRY(read_frame(&r, data, size, &f));
    if (!qc_flat_root(&r.flat, data, f.program, &r.root))
        return et_flat_status(&r);
    p->version = qc_flat_u32(&r.root, 0, 0);
    if (p->version != 0)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: schema version %u, expected 0", p->path,
                        p->version);
    QRN_TRY(read_segments(&r, data, size, f.segments));
    QRN_TRY(read_constants(&r));
    return read_methods(&r);
}

qrn_status et_program_parse(const void *data, size_t size, const char *path, et_program **out) {
    qrn_arena *arena = qrn_arena_create();
    et_program *p = arena ? qrn_arena_alloc(arena, sizeof *p) : NULL;
    if (p)
        p->path = qrn_arena_strdup(arena, path);
    if (!p || !p->path) {
        qrn_arena_destroy(arena);
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory", path);
    }
    p->arena = arena;
    qrn_status s = read_program(p, data, size);
    if (s != QRN_OK) {
        qrn_arena_destroy(arena);
        return s;
    }
    *out = p;
    return QRN_OK;
}

qrn_status et_program_open(const char *path, et_program **out) {
    qrn_file file = {0};
    QRN_TRY(qrn_file_map(path, &file));
    qrn_status s = et_program_parse(file.data, file.size, path, out);
    if (s != QRN_OK)
        qrn_file_unmap(&file);
    else
        (*out)->file = file;
    return s;
}

void et_program_close(et_program *p) {
    if (!p)
        return;
    qrn_file file = p->file;
    qrn_arena_destroy(p->arena);
    qrn_file_unmap(&file);
}
