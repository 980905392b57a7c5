// SPDX-License-Identifier: MIT
//
// Reading inputs. Files that know their shape come first and settle what the model leaves open;
// raw files, pictures and random numbers then take the shape that follows.
#include "tools/quern/inputs.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

// Sizes of symbolic dimensions, as files have them.
typedef struct symbols {
    const char *names[256];
    int64_t values[256];
    const char *from[256]; // who said so
    size_t n;
} symbols;

static int64_t find_symbol(const symbols *s, const char *name, const char **from) {
    for (size_t i = 0; name && i < s->n; i++)
        if (strcmp(s->names[i], name) == 0) {
            *from = s->from[i];
            return s->values[i];
        }
    return -1;
}

static void add_symbol(symbols *s, const char *name, int64_t value, const char *from) {
    if (!name || s->n == sizeof s->names / sizeof s->names[0])
        return;
    s->names[s->n] = name;
    s->values[s->n] = value;
    s->from[s->n++] = from;
}

static bool ends_with(const char *text, const char *end) {
    size_t n = strlen(text), k = strlen(end);
    return n >= k && strcmp(text + n - k, end) == 0;
}

const char *qt_info_shape(const ox_info *p, char *buf, size_t size) {
    if (!p->has_shape) {
        snprintf(buf, size, "[shape unknown]");
        return buf;
    }
    size_t at = (size_t)snprintf(buf, size, "[");
    for (uint32_t i = 0; i < p->rank && at < size; i++) {
        if (p->dims[i] >= 0)
            at += (size_t)snprintf(buf + at, size - at, "%s%lld", i ? ", " : "",
                                   (long long)p->dims[i]);
        else
            at += (size_t)snprintf(buf + at, size - at, "%s%s", i ? ", " : "",
                                   p->symbols[i] ? p->symbols[i] : "?");
    }
    if (at < size)
        snprintf(buf + at, size - at, "]");
    return buf;
}

static qrn_status wrong_shape(const char *from, const ox_info *p, const qt_array *a) {
    char have[256], want[256];
    return QRN_FAIL(QRN_E_SHAPE, "%s: shape %s, input '%s' expects %s", from,
                    qt_shape_text(a->rank, a->dims, have, sizeof have), p->name,
                    qt_info_shape(p, want, sizeof want));
}

// Compares a given array with what the model declares, and learns the symbolic sizes.
static qrn_status check_shape(const char *from, const ox_info *p, const qt_array *a, symbols *s) {
    if (!p->has_shape)
        return QRN_OK;
    if (a->rank != p->rank)
        return wrong_shape(from, p, a);
    for (uint32_t d = 0; d < p->rank; d++) {
        const char *who = "";
        int64_t bound = p->dims[d] >= 0 ? p->dims[d] : find_symbol(s, p->symbols[d], &who);
        if (bound < 0) {
            add_symbol(s, p->symbols[d], (int64_t)a->dims[d], p->name);
        } else if ((uint64_t)bound != a->dims[d]) {
            if (p->dims[d] >= 0)
                return wrong_shape(from, p, a);
            return QRN_FAIL(
                QRN_E_SHAPE, "%s: input '%s' dimension %u ('%s') is %llu, but %s says %lld", from,
                p->name, d, p->symbols[d], (unsigned long long)a->dims[d], who, (long long)bound);
        }
    }
    return QRN_OK;
}

// Arrays of 4-bit values are stored as bytes.
static bool type_fits(int have, int want) {
    return have == want || (want == OX_U4 && have == OX_U8) || (want == OX_I4 && have == OX_I8);
}

static qrn_status check_type(const qt_inputs *in, const char *from, const ox_info *p, qt_array *a) {
    if (type_fits(a->type, p->type)) {
        a->type = p->type;
        return QRN_OK;
    }
    if (!in->opt->cast)
        return QRN_FAIL(QRN_E_DTYPE, "%s: %s, input '%s' expects %s (--cast converts)", from,
                        ox_type_name(a->type), p->name, ox_type_name(p->type));
    qt_array cast;
    QRN_TRY(qt_array_cast(from, a, p->type, &cast));
    qt_array_free(a);
    *a = cast;
    return QRN_OK;
}

static qrn_status copy_array(const char *name, const qt_array *src, qt_array *out) {
    QRN_TRY(qt_array_create(name, src->type, src->rank, src->dims, out));
    memcpy(out->data, src->data, src->bytes);
    return QRN_OK;
}

// An input whose file says its shape.
static qrn_status load_shaped(const qt_inputs *in, const qt_source *src, const ox_info *p,
                              symbols *s, qt_array *out) {
    const char *from = src->path ? src->path : p->name;
    qt_array a = {0};
    QRN_TRY(src->array ? copy_array(p->name, src->array, &a) : qt_npy_read(src->path, &a));
    qrn_status st = check_type(in, from, p, &a);
    if (st == QRN_OK)
        st = check_shape(from, p, &a, s);
    if (st != QRN_OK) {
        qt_array_free(&a);
        return st;
    }
    *out = a;
    return QRN_OK;
}

static qrn_status dynamic(const ox_info *p) {
    char text[QRN_MESSAGE_MAX];
    ox_describe_dynamic(&p, 1, true, text, sizeof text);
    return QRN_FAIL(QRN_E_DYNAMIC_SHAPE, "%s, or give a .npy file", text);
}

// The declared shape with symbols filled in. One dimension may stay open (*open) when the caller
// can work it out.
static qrn_status complete_shape(const ox_info *p, const symbols *s, bool may_stay_open,
                                 uint64_t *dims, int64_t *open) {
    *open = -1;
    if (!p->has_shape)
        return dynamic(p);
    for (uint32_t d = 0; d < p->rank; d++) {
        const char *who;
        int64_t v = p->dims[d] >= 0 ? p->dims[d] : find_symbol(s, p->symbols[d], &who);
        if (v < 0 && may_stay_open && *open < 0) {
            *open = d;
            v = 1;
        }
        if (v < 0)
            return dynamic(p);
        dims[d] = (uint64_t)v;
    }
    return QRN_OK;
}

static size_t raw_bytes(const qt_array *a) {
    return a->type == OX_U4 || a->type == OX_I4 ? (a->count + 1) / 2 : a->bytes;
}

static void take_raw(const uint8_t *src, qt_array *a) {
    if (a->type != OX_U4 && a->type != OX_I4) {
        memcpy(a->data, src, a->bytes);
        return;
    }
    for (size_t i = 0; i < a->count; i++) {
        unsigned v = src[i / 2] >> (4 * (i & 1)) & 15;
        ((uint8_t *)a->data)[i] = (uint8_t)(a->type == OX_I4 && v > 7 ? v | 0xf0 : v);
    }
}

// Elements of the model's type in C order; an open dimension follows from the size of the file.
static qrn_status load_raw(const char *path, const ox_info *p, symbols *s, qt_array *out) {
    uint64_t dims[OX_MAX_RANK];
    int64_t open;
    QRN_TRY(complete_shape(p, s, true, dims, &open));
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    size_t row = qt_element_size(p->type); // bytes of all other dimensions
    for (uint32_t d = 0; open >= 0 && d < p->rank; d++)
        row = row > SIZE_MAX / (dims[d] ? dims[d] : 1) ? SIZE_MAX : row * dims[d];
    if (open >= 0 && row && f.size && f.size % row == 0) {
        dims[open] = f.size / row;
        add_symbol(s, p->symbols[open], (int64_t)dims[open], p->name);
    }
    qt_array a = {0};
    qrn_status st = qt_array_create(path, p->type, p->rank, dims, &a);
    if (st == QRN_OK && raw_bytes(&a) != f.size) {
        char shape[256];
        st = QRN_FAIL(QRN_E_SHAPE, "%s: %zu bytes, input '%s' expects %zu (%s %s)", path, f.size,
                      p->name, raw_bytes(&a), ox_type_name(p->type),
                      qt_shape_text(a.rank, a.dims, shape, sizeof shape));
    }
    if (st == QRN_OK)
        take_raw(f.data, &a);
    else
        qt_array_free(&a);
    qrn_file_unmap(&f);
    if (st == QRN_OK)
        *out = a;
    return st;
}

// xorshift64*: small, seeded, the same everywhere.
static uint64_t next_random(uint64_t *state) {
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * 0x2545f4914f6cdd1dULL;
}

// Floats in [-1, 1), small integers over their whole range, wider ones 0 to 9 (they are often
// indices).
static double random_value(int type, uint64_t bits) {
    switch (type) {
    case OX_F32:
    case OX_F64:
    case OX_F16:
    case OX_BF16:
        return (double)bits * 0x1p-52 - 1;
    case OX_BOOL:
        return (double)(bits & 1);
    case OX_U8:
        return (double)(bits & 255);
    case OX_I8:
        return (double)(bits & 255) - 128;
    case OX_U4:
        return (double)(bits & 15);
    case OX_I4:
        return (double)(bits & 15) - 8;
    default:
        return (double)(bits % 10);
    }
}

static qrn_status make_random(const ox_info *p, const uint64_t *dims, uint64_t state,
                              qt_array *out) {
    qt_array values;
    QRN_TRY(qt_array_create(p->name, OX_F64, p->rank, dims, &values));
    for (size_t i = 0; i < values.count; i++)
        ((double *)values.data)[i] = random_value(p->type, next_random(&state) >> 11);
    qrn_status st = qt_array_cast(p->name, &values, p->type, out);
    qt_array_free(&values);
    return st;
}

static qrn_status load_unshaped(const qt_inputs *in, const qt_source *src, const ox_info *p,
                                size_t port, size_t set, symbols *s, qt_array *out) {
    if (src->path && !qt_is_picture(src->path))
        return load_raw(src->path, p, s, out);
    uint64_t dims[OX_MAX_RANK];
    int64_t open;
    QRN_TRY(complete_shape(p, s, false, dims, &open));
    if (!src->path) {
        uint64_t state = 0x9e3779b97f4a7c15ULL * (in->opt->seed + 1) + 0x1000003 * set + port + 1;
        return make_random(p, dims, state ? state : 1, out);
    }
    qt_array a;
    QRN_TRY(qt_array_create(p->name, p->type, p->rank, dims, &a));
    qrn_status st = qt_picture_load(src->path, p->name, &in->picture, &a);
    if (st != QRN_OK) {
        qt_array_free(&a);
        return st;
    }
    *out = a;
    return QRN_OK;
}

static qrn_status load_all(const qt_inputs *in, size_t set, qt_array *arrays) {
    symbols s = {.n = 0};
    const qt_source *row = in->sources + set * in->n_ports;
    for (int shaped = 1; shaped >= 0; shaped--)
        for (uint32_t i = 0; i < in->n_ports; i++) {
            const ox_info *p = in->ports[i];
            if ((row[i].array || (row[i].path && ends_with(row[i].path, ".npy"))) != shaped)
                continue;
            if (!qt_element_size(p->type))
                return QRN_FAIL(QRN_E_UNSUPPORTED,
                                "input '%s' is of type %s; QNN graphs read tensors of numbers, so "
                                "compute what reads it outside of the model",
                                p->name,
                                p->type ? ox_type_name(p->type) : "something else than a tensor");
            QRN_TRY(shaped ? load_shaped(in, &row[i], p, &s, &arrays[i])
                           : load_unshaped(in, &row[i], p, i, set, &s, &arrays[i]));
        }
    return QRN_OK;
}

qrn_status qt_inputs_load(const qt_inputs *in, size_t set, qt_array *arrays) {
    for (uint32_t i = 0; i < in->n_ports; i++)
        arrays[i] = (qt_array){0};
    qrn_status st = load_all(in, set, arrays);
    for (uint32_t i = 0; st != QRN_OK && i < in->n_ports; i++)
        qt_array_free(&arrays[i]);
    return st;
}

void qt_inputs_shapes(const qt_inputs *in, const qt_array *arrays, ox_info *infos) {
    for (uint32_t i = 0; i < in->n_ports; i++) {
        infos[i] = (ox_info){.name = in->ports[i]->name,
                             .type = arrays[i].type,
                             .has_shape = true,
                             .rank = arrays[i].rank};
        for (uint32_t d = 0; d < arrays[i].rank; d++)
            infos[i].dims[d] = (int64_t)arrays[i].dims[d];
    }
}
