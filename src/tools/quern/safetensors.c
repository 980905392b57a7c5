// SPDX-License-Identifier: MIT
//
// The .safetensors format: the length of a header, a JSON object {name: {dtype, shape,
// data_offsets}}, and the bytes of all tensors. Everything in the header is a claim.
#include "tools/quern/files.h"

#include "base/file.h"
#include "tools/quern/heap.h"

#include <stdlib.h>
#include <string.h>

#define LENGTH_BYTES 8
#define HEADER_MOST ((uint64_t)100 << 20) // as the format's own reader has it

typedef struct source {
    const char *path;
    const char *data; // of the tensors
    uint64_t n_bytes;
} source;

static int type_of(const char *name) {
    static const struct {
        const char *name;
        int type;
    } table[] = {{"F64", OX_F64},  {"F32", OX_F32}, {"F16", OX_F16}, {"BF16", OX_BF16},
                 {"I64", OX_I64},  {"I32", OX_I32}, {"I16", OX_I16}, {"I8", OX_I8},
                 {"U64", OX_U64},  {"U32", OX_U32}, {"U16", OX_U16}, {"U8", OX_U8},
                 {"BOOL", OX_BOOL}};
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++)
        if (strcmp(table[i].name, name) == 0)
            return table[i].type;
    return OX_NONE;
}

static qrn_status broken(const source *s, const char *tensor, const char *what) {
    return QRN_FAIL(QRN_E_ARGUMENT, "%s: damaged .safetensors: tensor '%s': %s", s->path, tensor,
                    what);
}

// A whole number that is not negative; false: it is none.
static bool number_of(const json_t *v, uint64_t *out) {
    if (!json_is_integer(v) || json_integer_value(v) < 0)
        return false;
    *out = (uint64_t)json_integer_value(v);
    return true;
}

static qrn_status shape_of(const source *s, const char *name, const json_t *list, uint32_t *rank,
                           uint64_t *dims) {
    if (!json_is_array(list) || json_array_size(list) > OX_MAX_RANK)
        return broken(s, name, "its shape is not a list of at most 8 sizes");
    *rank = (uint32_t)json_array_size(list);
    for (uint32_t i = 0; i < *rank; i++)
        if (!number_of(json_array_get(list, i), &dims[i]))
            return broken(s, name, "a size of its shape is not a whole number");
    return QRN_OK;
}

static qrn_status read_tensor(const source *s, const char *name, const json_t *facts,
                              qt_array *out) {
    const json_t *range = json_object_get(facts, "data_offsets");
    const char *dtype = json_string_value(json_object_get(facts, "dtype"));
    uint64_t begin, end, dims[OX_MAX_RANK];
    uint32_t rank = 0;
    int type = dtype ? type_of(dtype) : OX_NONE;
    if (type == OX_NONE)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%s: tensor '%s' has dtype '%.16s'; known are F64, F32, F16, BF16, I64 to "
                        "I8, U64 to U8 and BOOL",
                        s->path, name, dtype ? dtype : "");
    QRN_TRY(shape_of(s, name, json_object_get(facts, "shape"), &rank, dims));
    if (!json_is_array(range) || json_array_size(range) != 2 ||
        !number_of(json_array_get(range, 0), &begin) || !number_of(json_array_get(range, 1), &end))
        return broken(s, name, "data_offsets are not two whole numbers");
    if (begin > end || end > s->n_bytes)
        return broken(s, name, "its data is outside the file");
    uint64_t bytes = qt_element_size(type);
    for (uint32_t i = 0; i < rank; i++)
        if (__builtin_mul_overflow(bytes, dims[i], &bytes))
            return broken(s, name, "its shape is too large");
    if (bytes != end - begin)
        return broken(s, name, "its data has another size than its shape");
    QRN_TRY(qt_array_create(name, type, rank, dims, out));
    if (bytes)
        memcpy(out->data, s->data + begin, bytes);
    return QRN_OK;
}

static qrn_status no_memory(const source *s) {
    return QRN_FAIL(QRN_E_MEM, "%s: out of memory", s->path);
}

static qrn_status read_all(const source *s, json_t *header, qt_npz *out) {
    const char *name;
    json_t *facts;
    size_t n = json_object_size(header);
    out->names = calloc(n + 1, sizeof *out->names);
    out->arrays = calloc(n + 1, sizeof *out->arrays);
    if (!out->names || !out->arrays)
        return no_memory(s);
    json_object_foreach(header, name, facts) {
        if (strcmp(name, "__metadata__") == 0)
            continue;
        if (!json_is_object(facts))
            return broken(s, name, "its entry of the header is not an object");
        QRN_TRY(read_tensor(s, name, facts, &out->arrays[out->n]));
        out->names[out->n] = strdup(name);
        if (!out->names[out->n++])
            return no_memory(s);
    }
    return QRN_OK;
}

static qrn_status read_file(const char *path, const qrn_file *f, qt_npz *out) {
    uint64_t length = 0;
    const char *data = f->data;
    for (unsigned i = 0; f->size >= LENGTH_BYTES && i < LENGTH_BYTES; i++)
        length |= (uint64_t)(uint8_t)data[i] << (8 * i);
    if (f->size < LENGTH_BYTES || length > f->size - LENGTH_BYTES || length > HEADER_MOST)
        return QRN_FAIL(QRN_E_ARGUMENT,
                        "%s: damaged .safetensors: a header of %llu bytes in a file of %zu", path,
                        (unsigned long long)length, f->size);
    json_error_t e;
    json_t *header = json_loadb(data + LENGTH_BYTES, (size_t)length, JSON_REJECT_DUPLICATES, &e);
    if (!header)
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: damaged .safetensors: header: %s at byte %d", path,
                        e.text, e.position);
    const source s = {path, data + LENGTH_BYTES + length, f->size - LENGTH_BYTES - length};
    qrn_status st = json_is_object(header)
                        ? read_all(&s, header, out)
                        : QRN_FAIL(QRN_E_ARGUMENT,
                                   "%s: damaged .safetensors: the header is not an object", path);
    json_decref(header);
    return st;
}

qrn_status qt_safetensors_read(const char *path, qt_npz *out) {
    qrn_file f = {0};
    QRN_TRY(qrn_file_map(path, &f));
    qt_npz made = {0};
    qrn_status s = read_file(path, &f, &made);
    qrn_file_unmap(&f);
    if (s != QRN_OK) {
        qt_npz_free(&made);
        return s;
    }
    *out = made;
    return QRN_OK;
}

qrn_status qt_arrays_read(const char *path, qt_npz *out) {
    const char *dot = strrchr(path, '.');
    return dot && strcmp(dot, ".safetensors") == 0 ? qt_safetensors_read(path, out)
                                                   : qt_npz_read(path, out);
}
