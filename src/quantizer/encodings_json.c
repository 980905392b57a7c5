// SPDX-License-Identifier: MIT
//
// Reading encodings. Each version has a function that collects what an entry says (struct entry);
// `add_entry` brings that to the one form and checks it.
#include "quantizer/encodings_json.h"

#include "base/json_read.h"
#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

typedef struct reading {
    const char *path;
    qz_encodings *list;
    bool legacy;
} reading;

// Numbers in the order of the file; nested lists are one.
typedef struct numbers {
    double *v; // NULL: not given
    uint32_t n;
} numbers;

typedef struct entry {
    const char *name;
    unsigned line;
    qz_encoding_place place;
    bool is_float, is_signed, symmetric;
    double bits;
    numbers scales, offsets, block_scales, mins, maxs;
    int32_t axis;
    double block;
} entry;

__attribute__((format(printf, 3, 4))) static qrn_status wrong(const reading *r, unsigned line,
                                                              const char *fmt, ...) {
    char text[512];
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    return QRN_FAIL(QRN_E_ARGUMENT, "%s:%u: %s", r->path, line, text);
}

static qrn_status no_memory(void) { return QRN_FAIL(QRN_E_MEM, "out of memory for encodings"); }

// --- values

static const qrn_json *either(const qrn_json *o, const char *a, const char *b) {
    const qrn_json *v = qrn_json_member(o, a);
    return v || !b ? v : qrn_json_member(o, b);
}

static qrn_status read_number(const reading *r, const entry *e, const char *key, const qrn_json *v,
                              double *out) {
    if (v->kind != QRN_JSON_NUMBER)
        return wrong(r, v->line, "tensor '%s': %s is a number, found %s", e->name, key,
                     qrn_json_kind_text(v->kind));
    *out = strtod(v->text, NULL);
    return isfinite(*out)
               ? QRN_OK
               : wrong(r, v->line, "tensor '%s': %s %s is out of range", e->name, key, v->text);
}

static uint32_t count_numbers(const qrn_json *v) {
    uint32_t n = 0;
    if (v->kind != QRN_JSON_ARRAY)
        return 1;
    for (const qrn_json *x = v->first; x; x = x->next)
        n += count_numbers(x);
    return n;
}

static qrn_status fill_numbers(const reading *r, const entry *e, const char *key, const qrn_json *v,
                               numbers *out) {
    if (v->kind != QRN_JSON_ARRAY)
        return read_number(r, e, key, v, &out->v[out->n++]);
    for (const qrn_json *x = v->first; x; x = x->next)
        QRN_TRY(fill_numbers(r, e, key, x, out));
    return QRN_OK;
}

// A number, or lists of numbers in any depth.
static qrn_status read_numbers(const reading *r, const entry *e, const qrn_json *o, const char *key,
                               numbers *out) {
    const qrn_json *v = qrn_json_member(o, key);
    if (!v)
        return QRN_OK;
    if (!(out->v = qrn_arena_alloc(r->list->arena, count_numbers(v) * sizeof *out->v)))
        return no_memory();
    return fill_numbers(r, e, key, v, out);
}

static qrn_status read_bits(const reading *r, const qrn_json *o, const char *key, entry *e) {
    const qrn_json *v = qrn_json_member(o, key);
    return v ? read_number(r, e, key, v, &e->bits)
             : wrong(r, e->line, "tensor '%s' has no %s", e->name, key);
}

// true, "True" and 1 are all in use.
static bool is_true(const qrn_json *v) {
    return v && (v->kind == QRN_JSON_TRUE ||
                 (v->text && (strcmp(v->text, "True") == 0 || strcmp(v->text, "true") == 0 ||
                              strcmp(v->text, "1") == 0)));
}

static qrn_status read_kind(const reading *r, const qrn_json *o, entry *e) {
    const qrn_json *v = qrn_json_member(o, "dtype");
    const char *text = v && v->kind == QRN_JSON_STRING ? v->text : v ? "" : "int";
    e->is_float = strcmp(text, "float") == 0 || strcmp(text, "FLOAT") == 0;
    if (!e->is_float && strcmp(text, "int") != 0 && strcmp(text, "INT") != 0)
        return wrong(r, v->line, "tensor '%s': dtype '%s'; int and float are supported", e->name,
                     text);
    return QRN_OK;
}

// --- from what the file says to one form

static double steps_of(const entry *e) { return ldexp(1, (int)e->bits) - 1; }
static double middle_of(const entry *e) { return ldexp(1, (int)e->bits - 1); }

// Scale and offset of a range (QNT-01, 02 and 05).
static void from_range(const entry *e, double low, double high, double *scale, double *offset) {
    low = low < 0 ? low : 0;
    high = high > 0 ? high : 0;
    high = high - low < 1e-4 ? low + 1e-4 : high;
    if (e->symmetric) {
        double up = high / (middle_of(e) - 1), down = -low / middle_of(e);
        *scale = up > down ? up : down;
        *offset = -middle_of(e);
        return;
    }
    *scale = (high - low) / steps_of(e);
    *offset = -rint(-low / *scale);
}

// Legacy files and the vendor's samples have offsets of both signs, and 0 for signed integers.
static double meant(const reading *r, const entry *e, uint32_t i, double offset) {
    double low = i < e->mins.n ? e->mins.v[i] : 0;
    if (r->legacy && offset > 0)
        return -offset;
    if (offset == 0 && e->symmetric && (low < 0 || (!e->mins.v && e->place == QZ_OF_PARAM)))
        return -middle_of(e);
    return offset;
}

static qrn_status check_entry(const reading *r, const entry *e) {
    bool whole = e->bits == floor(e->bits);
    if (e->is_float && e->bits != 16 && e->bits != 32)
        return wrong(r, e->line, "tensor '%s': %g-bit floats; 16 and 32 are supported", e->name,
                     e->bits);
    if (!whole || e->bits < 2 || e->bits > 32)
        return wrong(r, e->line, "tensor '%s': %g bits; 2 to 32 are supported", e->name, e->bits);
    if (e->block < 0 || e->block > UINT32_MAX || e->block != floor(e->block))
        return wrong(r, e->line, "tensor '%s': block_size %g", e->name, e->block);
    if (e->is_float)
        return QRN_OK;
    if (!e->scales.v && (!e->mins.v || !e->maxs.v))
        return wrong(r, e->line, "tensor '%s' has neither a scale nor min and max", e->name);
    uint32_t n = e->scales.v ? e->scales.n : e->mins.n;
    if (!n || (e->mins.v && e->mins.n != n) || (e->maxs.v && e->maxs.n != n) ||
        (e->offsets.v && e->offsets.n != n && !e->block_scales.v))
        return wrong(r, e->line, "tensor '%s': %u scales, %u offsets", e->name, n, e->offsets.n);
    if (e->block_scales.v && (!e->scales.v || e->block_scales.n % n))
        return wrong(r, e->line, "tensor '%s': %u per_block_int_scale for %u scales", e->name,
                     e->block_scales.n, n);
    return QRN_OK;
}

static qrn_status check_group(const reading *r, const entry *e, double scale, double offset) {
    if (!(scale > 0) || !((float)scale > 0) || !isfinite((float)scale))
        return wrong(r, e->line, "tensor '%s': scale %g; more than 0 is expected", e->name, scale);
    if (offset != floor(offset) || offset > 0 || offset < -steps_of(e) || offset < INT32_MIN)
        return wrong(r, e->line, "tensor '%s': offset %g; %.0f to 0 is the range of %g bits",
                     e->name, offset, -steps_of(e), e->bits);
    return QRN_OK;
}

// Products of two-level scales. Blocks of a channel are one behind the other ([channels][blocks])
// but where the file says that the axis of the blocks is the first of a matrix
// ([blocks][channels]).
static qrn_status multiply_scales(const reading *r, const entry *e, qz_encoding *q) {
    uint32_t n = e->block_scales.n, channels = e->scales.n, each = n / channels;
    bool first = e->axis == 0 || e->axis == -2;
    float *products = qrn_arena_alloc(r->list->arena, n * sizeof *products);
    int32_t *offsets = qrn_arena_alloc(r->list->arena, n * sizeof *offsets);
    float *multiples = qrn_arena_alloc(r->list->arena, n * sizeof *multiples);
    if (!products || !offsets || !multiples)
        return no_memory();
    for (uint32_t i = 0; i < n; i++) {
        double s = e->scales.v[first ? i % channels : i / each] * e->block_scales.v[i];
        QRN_TRY(check_group(r, e, s, 0));
        products[i] = (float)s;
        multiples[i] = (float)e->block_scales.v[i];
        offsets[i] = (int32_t)-middle_of(e);
    }
    q->multiples = multiples;
    q->channel_scales = q->scales;
    q->n_channels = channels;
    q->scales = products;
    q->offsets = offsets;
    q->n = n;
    return QRN_OK;
}

static qrn_status fill_groups(const reading *r, entry *e, qz_encoding *q) {
    q->n = e->scales.v ? e->scales.n : e->mins.n;
    float *scales = qrn_arena_alloc(r->list->arena, q->n * sizeof *scales);
    int32_t *offsets = qrn_arena_alloc(r->list->arena, q->n * sizeof *offsets);
    if (!scales || !offsets)
        return no_memory();
    q->symmetric = true;
    for (uint32_t i = 0; i < q->n; i++) {
        double scale = 0, offset = e->symmetric || e->is_signed ? -middle_of(e) : 0;
        if (!e->scales.v)
            from_range(e, e->mins.v[i], e->maxs.v[i], &scale, &offset);
        else
            scale = e->scales.v[i];
        if (e->scales.v && e->offsets.v && e->offsets.n == q->n && !e->block_scales.v)
            offset = meant(r, e, i, e->offsets.v[i]);
        else if (e->scales.v && e->mins.v && !e->symmetric)
            offset = rint((e->mins.v[i] < 0 ? e->mins.v[i] : 0) / scale);
        QRN_TRY(check_group(r, e, scale, offset));
        scales[i] = (float)scale;
        offsets[i] = (int32_t)offset;
        q->symmetric &= offset == -middle_of(e);
    }
    q->scales = scales;
    q->offsets = offsets;
    return e->block_scales.v ? multiply_scales(r, e, q) : QRN_OK;
}

static qrn_status add_entry(const reading *r, entry *e) {
    qz_encoding q = {.name = e->name,
                     .place = e->place,
                     .line = e->line,
                     .is_float = e->is_float,
                     .axis = e->axis};
    QRN_TRY(check_entry(r, e));
    q.bits = (unsigned)e->bits;
    q.block = (uint32_t)e->block;
    if (!e->is_float)
        QRN_TRY(fill_groups(r, e, &q));
    const qz_encoding *known = qz_encodings_find(r->list, e->name);
    if (known)
        return wrong(r, e->line, "tensor '%s' has an encoding already, in line %u", e->name,
                     known->line);
    return qz_encodings_add(r->list, &q);
}

// --- 0.x: {tensor: [one for each channel]}

static qrn_status read_legacy(const reading *r, const qrn_json *tensor, qz_encoding_place place) {
    entry e = {.name = tensor->key, .line = tensor->line, .place = place, .axis = QZ_NO_AXIS};
    numbers *const lists[] = {&e.mins, &e.maxs, &e.scales, &e.offsets};
    static const char *const keys[] = {"min", "max", "scale", "offset"};
    if (tensor->kind != QRN_JSON_ARRAY || !tensor->first)
        return wrong(r, tensor->line, "tensor '%s': a list of encodings is expected", e.name);
    for (size_t k = 0; k < 4; k++)
        if (!(lists[k]->v = qrn_arena_alloc(r->list->arena, tensor->n * sizeof(double))))
            return no_memory();
    for (const qrn_json *c = tensor->first; c; c = c->next) {
        double bits = e.bits;
        if (c->kind != QRN_JSON_OBJECT)
            return wrong(r, c->line, "tensor '%s': an object is expected, found %s", e.name,
                         qrn_json_kind_text(c->kind));
        QRN_TRY(read_bits(r, c, "bitwidth", &e));
        QRN_TRY(read_kind(r, c, &e));
        e.symmetric = is_true(qrn_json_member(c, "is_symmetric"));
        if (c != tensor->first && bits != e.bits)
            return wrong(r, c->line, "tensor '%s' has channels of %g and %g bits", e.name, bits,
                         e.bits);
        for (size_t k = 0; k < 4; k++) {
            const qrn_json *v = qrn_json_member(c, keys[k]);
            if (v)
                QRN_TRY(read_number(r, &e, keys[k], v, &lists[k]->v[lists[k]->n++]));
        }
    }
    for (size_t k = 0; k < 4; k++)
        if (lists[k]->n == 0)
            lists[k]->v = NULL;
    return add_entry(r, &e);
}

// --- 1.0.0: [{name, enc_type, ...}]

static qrn_status read_name(const reading *r, const qrn_json *o, entry *e) {
    const qrn_json *name = qrn_json_member(o, "name");
    e->line = o->line;
    if (o->kind != QRN_JSON_OBJECT)
        return wrong(r, o->line, "an encoding is an object, found %s", qrn_json_kind_text(o->kind));
    if (!name || name->kind != QRN_JSON_STRING || !name->text[0])
        return wrong(r, o->line, "an encoding without the name of its tensor");
    e->name = name->text;
    return QRN_OK;
}

static qrn_status read_block(const reading *r, const qrn_json *o, entry *e) {
    const qrn_json *v = qrn_json_member(o, "block_size");
    return v ? read_number(r, e, "block_size", v, &e->block) : QRN_OK;
}

static qrn_status read_listed(const reading *r, const qrn_json *o, qz_encoding_place place) {
    entry e = {.place = place, .axis = QZ_NO_AXIS};
    numbers shifts = {0};
    QRN_TRY(read_name(r, o, &e));
    const qrn_json *type = qrn_json_member(o, "enc_type");
    const char *text = type && type->kind == QRN_JSON_STRING ? type->text : "PER_TENSOR";
    bool two_levels = strcmp(text, "LPBQ") == 0, blocks = two_levels;
    blocks |= strcmp(text, "PER_BLOCK") == 0;
    if (!blocks && strcmp(text, "PER_TENSOR") != 0 && strcmp(text, "PER_CHANNEL") != 0)
        return wrong(r, e.line,
                     "tensor '%s': enc_type %s; PER_TENSOR, PER_CHANNEL, PER_BLOCK and LPBQ are "
                     "supported",
                     e.name, text);
    QRN_TRY(read_bits(r, o, two_levels ? "compressed_bw" : "bw", &e));
    QRN_TRY(read_kind(r, o, &e));
    e.symmetric = is_true(either(o, "is_sym", "is_symmetric"));
    QRN_TRY(read_numbers(r, &e, o, "scale", &e.scales));
    QRN_TRY(read_numbers(r, &e, o, "offset", &e.offsets));
    QRN_TRY(read_numbers(r, &e, o, "min", &e.mins));
    QRN_TRY(read_numbers(r, &e, o, "max", &e.maxs));
    QRN_TRY(read_numbers(r, &e, o, "zero_point_shift", &shifts));
    for (uint32_t i = 0; i < shifts.n; i++)
        if (shifts.v[i] != 0)
            return wrong(r, e.line, "tensor '%s': zero_point_shift %g is not supported", e.name,
                         shifts.v[i]);
    if (blocks)
        QRN_TRY(read_block(r, o, &e));
    if (blocks && !(e.block >= 1))
        return wrong(r, e.line, "tensor '%s': %s without a block_size", e.name, text);
    if (two_levels)
        QRN_TRY(read_numbers(r, &e, o, "per_block_int_scale", &e.block_scales));
    if (two_levels && !e.block_scales.v)
        return wrong(r, e.line, "tensor '%s': LPBQ without per_block_int_scale", e.name);
    return add_entry(r, &e);
}

// --- 2.0.0: [{name, output_dtype, y_scale, ...}]

static qrn_status read_dtype(const reading *r, const qrn_json *o, entry *e) {
    const qrn_json *v = qrn_json_member(o, "output_dtype");
    const char *text = v && v->kind == QRN_JSON_STRING ? v->text : "", *digits;
    char *end = NULL;
    e->is_float = strncmp(text, "float", 5) == 0;
    e->is_signed = strncmp(text, "int", 3) == 0;
    bool is_unsigned = strncmp(text, "uint", 4) == 0;
    digits = text + (e->is_float ? 5 : e->is_signed ? 3 : is_unsigned ? 4 : 0);
    if (digits > text && digits[0] >= '1' && digits[0] <= '9')
        e->bits = (double)strtoul(digits, &end, 10);
    if (!end || *end)
        return wrong(r, v ? v->line : e->line,
                     "tensor '%s': output_dtype '%s'; int8, uint16, float16 and the like are "
                     "expected",
                     e->name, text);
    return QRN_OK;
}

static qrn_status read_modern(const reading *r, const qrn_json *o) {
    entry e = {.place = QZ_OF_TENSOR, .axis = QZ_NO_AXIS};
    numbers zeros = {0};
    QRN_TRY(read_name(r, o, &e));
    QRN_TRY(read_dtype(r, o, &e));
    QRN_TRY(read_numbers(r, &e, o, "y_scale", &e.scales));
    QRN_TRY(read_numbers(r, &e, o, "y_zero_point", &zeros));
    QRN_TRY(read_numbers(r, &e, o, "per_block_int_scale", &e.block_scales));
    if (e.block_scales.v)
        QRN_TRY(read_numbers(r, &e, o, "per_channel_float_scale", &e.scales));
    const qrn_json *axis = qrn_json_member(o, "axis");
    if (axis) {
        double v;
        QRN_TRY(read_number(r, &e, "axis", axis, &v));
        if (v != floor(v) || v < -8 || v > 7)
            return wrong(r, axis->line, "tensor '%s': axis %g", e.name, v);
        e.axis = (int32_t)v;
    }
    QRN_TRY(read_block(r, o, &e));
    if (!axis && (e.block > 0 || e.scales.n > 1))
        return wrong(r, e.line, "tensor '%s' has several scales and no axis", e.name);
    if (e.block_scales.v && !(e.block >= 1))
        return wrong(r, e.line, "tensor '%s': per_block_int_scale without a block_size", e.name);
    QRN_TRY(check_entry(r, &e));
    for (uint32_t i = 0; i < zeros.n && !e.is_float; i++)
        zeros.v[i] = -zeros.v[i] - (e.is_signed ? middle_of(&e) : 0);
    if (!e.is_float)
        e.offsets = zeros;
    return add_entry(r, &e);
}

// --- files

static qrn_status read_sections(const reading *r, const qrn_json *top, bool legacy) {
    static const char *const names[] = {"activation_encodings", "param_encodings"};
    for (int k = 0; k < 2; k++) {
        const qrn_json *s = qrn_json_member(top, names[k]);
        if (!s && legacy)
            return wrong(r, top->line, "%s is missing; it may be empty", names[k]);
        if (s && s->kind != (legacy ? QRN_JSON_OBJECT : QRN_JSON_ARRAY))
            return wrong(r, s->line, "%s is %s; this version has %s", names[k],
                         qrn_json_kind_text(s->kind), legacy ? "an object" : "a list");
        for (const qrn_json *t = s ? s->first : NULL; t; t = t->next)
            QRN_TRY(legacy ? read_legacy(r, t, (qz_encoding_place)k)
                           : read_listed(r, t, (qz_encoding_place)k));
    }
    return QRN_OK;
}

static qrn_status read_all(reading *r, const qrn_json *top) {
    const qrn_json *version = qrn_json_member(top, "version");
    const qrn_json *list = qrn_json_member(top, "encodings");
    const qrn_json *section = either(top, "activation_encodings", "param_encodings");
    const char *text = version && version->kind == QRN_JSON_STRING ? version->text : NULL;
    if (top->kind != QRN_JSON_OBJECT || (!text && !list && !section))
        return wrong(r, top->line,
                     "no encodings: activation_encodings and param_encodings (0.6.1, 1.0.0) or "
                     "encodings (2.0.0) are expected");
    r->legacy = text ? strncmp(text, "0.", 2) == 0 : section && section->kind == QRN_JSON_OBJECT;
    bool modern = text ? strncmp(text, "2.0.", 4) == 0 : list != NULL;
    if (!r->legacy && !modern && text && strncmp(text, "1.", 2) != 0)
        return wrong(r, version->line, "version '%s'; 0.x, 1.0.0 and 2.0.0 are supported", text);
    if (!modern)
        return read_sections(r, top, r->legacy);
    if (!list || list->kind != QRN_JSON_ARRAY)
        return wrong(r, list ? list->line : top->line, "version 2.0.0 has a list 'encodings'");
    for (const qrn_json *t = list->first; t; t = t->next)
        QRN_TRY(read_modern(r, t));
    return QRN_OK;
}

static qrn_status parse(const char *path, const char *text, size_t n, qz_encodings **out) {
    qz_encodings *e = NULL;
    qrn_json *top = NULL;
    QRN_TRY(qz_encodings_create(&e));
    qrn_arena *tree = qrn_arena_create();
    qrn_status s = !tree  ? no_memory()
                   : text ? qrn_json_read(path, text, n, tree, &top)
                          : qrn_json_read_file(path, tree, &top);
    if (s == QRN_OK) {
        reading r = {.path = path, .list = e};
        e->path = qrn_arena_strdup(e->arena, path);
        s = e->path ? read_all(&r, top) : no_memory();
    }
    qrn_arena_destroy(tree);
    if (s != QRN_OK) {
        qz_encodings_free(e);
        return s;
    }
    *out = e;
    return QRN_OK;
}

qrn_status qz_encodings_read(const char *path, qz_encodings **out) {
    return parse(path, NULL, 0, out);
}

qrn_status qz_encodings_parse(const char *path, const char *text, size_t n, qz_encodings **out) {
    return parse(path, text, n, out);
}
