// SPDX-License-Identifier: MIT
//
// NumPy's .npy format, versions 1 to 3: a magic word, the length of a header, the header as a
// Python dictionary with descr, fortran_order and shape, then the elements.
#include "tools/quern/files.h"

#include "base/file.h"

#include <stdlib.h>
#include <string.h>

qrn_status qt_not_a(const char *path, const char *expected, const void *data, size_t size) {
    const char *what = ox_foreign_format(data, size);
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: not %s%s%.*s", path, expected, what ? " but " : "",
                    what ? (int)strcspn(what, ";") : 0, what ? what : "");
}

typedef struct npy_type {
    const char *code; // behind the byte order
    int type;
} npy_type;

// V2 is how NumPy stores the bfloat16 of the ml_dtypes package; int4 and uint4 are the names by
// which it finds the types of that package.
static const npy_type npy_types[] = {
    {"f4", OX_F32}, {"f8", OX_F64},  {"f2", OX_F16},  {"i1", OX_I8},   {"i2", OX_I16},
    {"i4", OX_I32}, {"i8", OX_I64},  {"u1", OX_U8},   {"u2", OX_U16},  {"u4", OX_U32},
    {"u8", OX_U64}, {"b1", OX_BOOL}, {"V2", OX_BF16}, {"int4", OX_I4}, {"uint4", OX_U4},
};
#define N_TYPES (sizeof npy_types / sizeof npy_types[0])

typedef struct header {
    int type;
    bool swapped, fortran;
    uint32_t rank;
    uint64_t dims[OX_MAX_RANK];
} header;

// Text of the header and where reading is.
typedef struct cursor {
    const char *name, *start, *at, *end;
} cursor;

static qrn_status broken(const cursor *c, const char *want) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: damaged .npy header at character %zu: expected %s",
                    c->name, (size_t)(c->at - c->start), want);
}

static void skip_blanks(cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n'))
        c->at++;
}

static bool accept(cursor *c, char ch) {
    skip_blanks(c);
    if (c->at == c->end || *c->at != ch)
        return false;
    c->at++;
    return true;
}

static bool read_string(cursor *c, char *buf, size_t size) {
    skip_blanks(c);
    if (c->at == c->end || (*c->at != '\'' && *c->at != '"'))
        return false;
    char quote = *c->at++;
    size_t n = 0;
    while (c->at < c->end && *c->at != quote && n + 1 < size)
        buf[n++] = *c->at++;
    buf[n] = '\0';
    if (c->at == c->end || *c->at != quote)
        return false;
    c->at++;
    return true;
}

static bool read_bool(cursor *c, bool *out) {
    skip_blanks(c);
    size_t left = (size_t)(c->end - c->at);
    *out = left >= 4 && memcmp(c->at, "True", 4) == 0;
    if (!*out && !(left >= 5 && memcmp(c->at, "False", 5) == 0))
        return false;
    c->at += *out ? 4 : 5;
    return true;
}

static bool read_dim(cursor *c, uint64_t *out) {
    skip_blanks(c);
    const char *first = c->at;
    uint64_t v = 0;
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++) {
        if (v > (UINT64_MAX - 9) / 10)
            return false;
        v = v * 10 + (uint64_t)(*c->at - '0');
    }
    *out = v;
    return c->at > first;
}

static qrn_status read_descr(cursor *c, header *h) {
    skip_blanks(c);
    if (c->at < c->end && *c->at == '[')
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: records (structured arrays) are not supported",
                        c->name);
    char text[32];
    if (!read_string(c, text, sizeof text))
        return broken(c, "the type of the elements");
    const char *code = text + (strchr("<>|=", text[0]) && text[0] ? 1 : 0);
    for (size_t i = 0; i < N_TYPES; i++)
        if (strcmp(code, npy_types[i].code) == 0) {
            h->type = npy_types[i].type;
            h->swapped = text[0] == '>' && qt_element_size(h->type) > 1;
            return QRN_OK;
        }
    return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: elements of type '%s' are not supported", c->name,
                    text);
}

static qrn_status read_shape(cursor *c, header *h) {
    if (!accept(c, '('))
        return broken(c, "'('");
    while (!accept(c, ')')) {
        if (h->rank == OX_MAX_RANK)
            return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: more than %d dimensions", c->name, OX_MAX_RANK);
        if (!read_dim(c, &h->dims[h->rank]))
            return broken(c, "a dimension");
        h->rank++;
        if (!accept(c, ',')) {
            if (accept(c, ')'))
                return QRN_OK;
            return broken(c, "',' or ')'");
        }
    }
    return QRN_OK;
}

static qrn_status read_header(cursor *c, header *h) {
    unsigned seen = 0;
    if (!accept(c, '{'))
        return broken(c, "'{'");
    while (!accept(c, '}')) {
        char key[32];
        if (!read_string(c, key, sizeof key) || !accept(c, ':'))
            return broken(c, "a key and ':'");
        unsigned bit;
        if (strcmp(key, "descr") == 0) {
            bit = 1;
            QRN_TRY(read_descr(c, h));
        } else if (strcmp(key, "fortran_order") == 0) {
            bit = 2;
            if (!read_bool(c, &h->fortran))
                return broken(c, "True or False");
        } else if (strcmp(key, "shape") == 0) {
            bit = 4;
            if (!(seen & bit))
                QRN_TRY(read_shape(c, h));
        } else {
            return broken(c, "descr, fortran_order or shape");
        }
        if (seen & bit)
            return broken(c, "every key once");
        seen |= bit;
        if (!accept(c, ',') && (c->at == c->end || *c->at != '}'))
            return broken(c, "',' or '}'");
    }
    return seen == 7 ? QRN_OK : broken(c, "descr, fortran_order and shape");
}

static void copy_element(uint8_t *dst, const uint8_t *src, size_t size, bool swapped) {
    for (size_t k = 0; k < size; k++)
        dst[k] = src[swapped ? size - 1 - k : k];
}

// Elements whose first index runs fastest, into C order.
static void from_fortran(const header *h, const uint8_t *src, qt_array *a) {
    size_t size = qt_element_size(h->type);
    uint64_t index[OX_MAX_RANK] = {0};
    size_t strides[OX_MAX_RANK], step = 1;
    for (uint32_t d = h->rank; d-- > 0;) {
        strides[d] = step;
        step *= (size_t)h->dims[d];
    }
    for (size_t i = 0; i < a->count; i++) {
        size_t to = 0;
        for (uint32_t d = 0; d < h->rank; d++)
            to += (size_t)index[d] * strides[d];
        copy_element((uint8_t *)a->data + to * size, src + i * size, size, h->swapped);
        for (uint32_t d = 0; d < h->rank && ++index[d] == h->dims[d]; d++)
            index[d] = 0;
    }
}

static qrn_status take_elements(const char *name, const header *h, const uint8_t *src, size_t left,
                                qt_array *out) {
    // The claim is checked before memory is taken for it.
    size_t size = qt_element_size(h->type);
    uint64_t count = 1;
    for (uint32_t i = 0; i < h->rank; i++)
        if (__builtin_mul_overflow(count, h->dims[i], &count))
            count = UINT64_MAX;
    bool empty = false;
    for (uint32_t i = 0; i < h->rank; i++)
        empty = empty || h->dims[i] == 0;
    if (!empty && count > left / size) {
        char shape[256];
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: shape %s of %s needs more than the %zu bytes it has",
                        name, qt_shape_text(h->rank, h->dims, shape, sizeof shape),
                        ox_type_name(h->type), left);
    }
    QRN_TRY(qt_array_create(name, h->type, h->rank, h->dims, out));
    if (h->fortran && h->rank > 1) {
        from_fortran(h, src, out);
    } else if (h->swapped) {
        for (size_t i = 0; i < out->count; i++)
            copy_element((uint8_t *)out->data + i * size, src + i * size, size, true);
    } else if (out->bytes) {
        memcpy(out->data, src, out->bytes);
    }
    return QRN_OK;
}

qrn_status qt_npy_parse(const char *name, const void *data, size_t size, qt_array *out) {
    const uint8_t *p = data;
    if (size < 10 || memcmp(p, "\x93NUMPY", 6) != 0)
        return qt_not_a(name, "a .npy file", data, size);
    if (p[6] < 1 || p[6] > 3)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: .npy version %u.%u, supported 1 to 3", name, p[6],
                        p[7]);
    size_t at = p[6] == 1 ? 10 : 12;
    size_t length = p[8] | (size_t)p[9] << 8;
    if (p[6] > 1)
        length |= size < at ? SIZE_MAX >> 1 : (size_t)p[10] << 16 | (size_t)p[11] << 24;
    if (size < at || length > size - at)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: the .npy header is longer than the file", name);
    const char *text = (const char *)p + at;
    cursor c = {name, text, text, text + length};
    header h = {0};
    QRN_TRY(read_header(&c, &h));
    return take_elements(name, &h, p + at + length, size - at - length, out);
}

qrn_status qt_npy_read(const char *path, qt_array *out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qrn_status s = qt_npy_parse(path, f.data, f.size, out);
    qrn_file_unmap(&f);
    return s;
}

bool qt_npy_write(const char *path, const qt_array *a) {
    const char *code = NULL, *order = qt_element_size(a->type) > 1 ? "<" : "|";
    for (size_t i = 0; i < N_TYPES; i++)
        if (npy_types[i].type == a->type)
            code = npy_types[i].code;
    if (!code) {
        qt_error("%s: %s cannot be written as .npy", path, ox_type_name(a->type));
        return false;
    }
    if (a->type == OX_I4 || a->type == OX_U4)
        order = "";
    char head[512];
    size_t n = 10;
    n += (size_t)snprintf(head + n, sizeof head - n, "{'descr': '%s%s', 'fortran_order': False, ",
                          order, code);
    n += (size_t)snprintf(head + n, sizeof head - n, "'shape': (");
    for (uint32_t i = 0; i < a->rank; i++)
        n += (size_t)snprintf(head + n, sizeof head - n, "%llu,%s", (unsigned long long)a->dims[i],
                              i + 1 < a->rank ? " " : "");
    n += (size_t)snprintf(head + n, sizeof head - n, "), }");
    size_t total = (n + 1 + 63) / 64 * 64; // elements begin at a multiple of 64
    memset(head + n, ' ', total - n);
    head[total - 1] = '\n';
    static const unsigned char magic[] = {0x93, 'N', 'U', 'M', 'P', 'Y', 1, 0};
    memcpy(head, magic, sizeof magic);
    head[8] = (char)((total - 10) & 0xff);
    head[9] = (char)((total - 10) >> 8);
    const qt_part parts[] = {{head, total}, {a->data, a->bytes}};
    return qt_write_result(path, parts, 2);
}
