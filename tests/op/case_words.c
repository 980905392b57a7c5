// SPDX-License-Identifier: MIT
//
// The words of a case file's index. Encodings keep pointers into the blob: arrays in it are aligned
// to 16 bytes by the writer, and an unaligned reference is refused.

#include "case_words.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool qrn_read_u64(const char *text, uint64_t *out) {
    char *stop = NULL;
    if (*text < '0' || *text > '9')
        return false;
    errno = 0;
    *out = strtoull(text, &stop, 10);
    return *stop == '\0' && errno == 0;
}

bool qrn_read_i64(const char *text, int64_t *out) {
    char *stop = NULL;
    errno = 0;
    *out = strtoll(text, &stop, 10);
    return stop != text && *stop == '\0' && errno == 0;
}

bool qrn_read_hex(const char *text, uint64_t *out) {
    char *stop = NULL;
    errno = 0;
    *out = strtoull(text, &stop, 16);
    return stop != text && *stop == '\0' && errno == 0 && *out <= INT32_MAX;
}

bool qrn_read_double(const char *text, double *out) {
    char *stop = NULL;
    *out = strtod(text, &stop);
    return stop != text && *stop == '\0';
}

uint32_t qrn_dtype_bits(Qnn_DataType_t dtype) {
    switch (dtype) {
    case QNN_DATATYPE_UFIXED_POINT_4:
    case QNN_DATATYPE_SFIXED_POINT_4:
        return 4;
    case QNN_DATATYPE_INT_8:
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
    case QNN_DATATYPE_UFIXED_POINT_8:
    case QNN_DATATYPE_BOOL_8:
        return 8;
    case QNN_DATATYPE_INT_16:
    case QNN_DATATYPE_UINT_16:
    case QNN_DATATYPE_FLOAT_16:
    case QNN_DATATYPE_BFLOAT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
    case QNN_DATATYPE_UFIXED_POINT_16:
        return 16;
    case QNN_DATATYPE_INT_32:
    case QNN_DATATYPE_UINT_32:
    case QNN_DATATYPE_FLOAT_32:
    case QNN_DATATYPE_SFIXED_POINT_32:
    case QNN_DATATYPE_UFIXED_POINT_32:
        return 32;
    case QNN_DATATYPE_INT_64:
    case QNN_DATATYPE_UINT_64:
    case QNN_DATATYPE_FLOAT_64:
        return 64;
    default:
        return 0;
    }
}

uint64_t qrn_shape_count(const qrn_shape *s) {
    uint64_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++)
        n *= s->dims[i];
    return n;
}

size_t qrn_shape_bytes(const qrn_shape *s, Qnn_DataType_t dtype) {
    return (size_t)((qrn_shape_count(s) * qrn_dtype_bits(dtype) + 7) / 8);
}

bool qrn_read_shape(const char *text, qrn_shape *out) {
    *out = (qrn_shape){0};
    if (strcmp(text, "-") == 0)
        return true;
    uint64_t count = 1;
    while (out->rank < QRN_CASE_RANK) {
        char *stop = NULL;
        if (*text < '0' || *text > '9')
            return false;
        unsigned long long dim = strtoull(text, &stop, 10);
        // Small enough that no later product overflows.
        if (dim > (1u << 30) || (count *= dim) > (1u << 30))
            return false;
        out->dims[out->rank++] = (uint32_t)dim;
        if (*stop == '\0')
            return true;
        if (*stop != 'x')
            return false;
        text = stop + 1;
    }
    return false;
}

bool qrn_read_bytes(const qrn_case_file *f, const char *text, qrn_bytes *out) {
    *out = (qrn_bytes){0};
    if (strcmp(text, "-") == 0)
        return true;
    char *stop = NULL;
    if (text[0] != '@' || text[1] < '0' || text[1] > '9')
        return false;
    unsigned long long offset = strtoull(text + 1, &stop, 10);
    uint64_t size = 0;
    if (*stop != '+' || !qrn_read_u64(stop + 1, &size))
        return false;
    if (offset % 16 || offset > f->blob_size || size > f->blob_size - offset)
        return false;
    *out = (qrn_bytes){f->blob + offset, (size_t)size};
    return true;
}

bool qrn_read_scalar(const char *dtype, char *text, Qnn_Scalar_t *out) {
    uint64_t code = 0, u = 0;
    int64_t i = 0;
    double d = 0;
    *out = (Qnn_Scalar_t)QNN_SCALAR_INIT;
    if (!qrn_read_hex(dtype, &code))
        return false;
    out->dataType = (Qnn_DataType_t)code;
    switch (out->dataType) {
    case QNN_DATATYPE_STRING:
        out->stringValue = text;
        return true;
    case QNN_DATATYPE_FLOAT_32:
        if (!qrn_read_double(text, &d))
            return false;
        out->floatValue = (float)d;
        return true;
    case QNN_DATATYPE_FLOAT_64:
        return qrn_read_double(text, &out->doubleValue);
    case QNN_DATATYPE_UINT_64:
        return qrn_read_u64(text, &out->uint64Value);
    default:
        break;
    }
    if (!qrn_read_i64(text, &i))
        return false;
    u = (uint64_t)i;
    switch (out->dataType) {
    case QNN_DATATYPE_INT_64:
        out->int64Value = i;
        return true;
    case QNN_DATATYPE_UINT_32:
        out->uint32Value = (uint32_t)u;
        return i >= 0 && i <= UINT32_MAX;
    case QNN_DATATYPE_INT_32:
        out->int32Value = (int32_t)i;
        return i >= INT32_MIN && i <= INT32_MAX;
    case QNN_DATATYPE_UINT_16:
    case QNN_DATATYPE_UFIXED_POINT_16:
        out->uint16Value = (uint16_t)u;
        return i >= 0 && i <= UINT16_MAX;
    case QNN_DATATYPE_INT_16:
    case QNN_DATATYPE_SFIXED_POINT_16:
        out->int16Value = (int16_t)i;
        return i >= INT16_MIN && i <= INT16_MAX;
    case QNN_DATATYPE_UINT_8:
    case QNN_DATATYPE_UFIXED_POINT_8:
        out->uint8Value = (uint8_t)u;
        return i >= 0 && i <= UINT8_MAX;
    case QNN_DATATYPE_INT_8:
    case QNN_DATATYPE_SFIXED_POINT_8:
        out->int8Value = (int8_t)i;
        return i >= INT8_MIN && i <= INT8_MAX;
    case QNN_DATATYPE_BOOL_8:
        out->bool8Value = (uint8_t)u;
        return i >= 0 && i <= UINT8_MAX;
    default:
        return false;
    }
}

enum { MAX_PARTS = 8 };

// Cuts "a:b:c" in place; returns the number of parts, 0 when there are too many.
static uint32_t split(char *text, char *part[MAX_PARTS]) {
    uint32_t n = 0;
    part[n++] = text;
    for (char *p = text; *p; p++) {
        if (*p != ':')
            continue;
        if (n == MAX_PARTS)
            return 0;
        *p = '\0';
        part[n++] = p + 1;
    }
    return n;
}

bool qrn_read_mode(char *text, qrn_want *w) {
    static const struct {
        const char *name;
        qrn_cmp mode;
        uint32_t n_numbers, n_parts;
    } modes[] = {{"exact", QRN_CMP_EXACT, 0, 1}, {"float", QRN_CMP_FLOAT, 3, 5},
                 {"ulp", QRN_CMP_ULP, 1, 3},     {"ulp16", QRN_CMP_ULP16, 2, 4},
                 {"quant", QRN_CMP_QUANT, 3, 6}, {"stats", QRN_CMP_STATS, 6, 7}};
    char *part[MAX_PARTS];
    uint32_t n = split(text, part);
    for (size_t i = 0; n > 0 && i < sizeof modes / sizeof modes[0]; i++) {
        if (strcmp(part[0], modes[i].name) != 0)
            continue;
        if (n != modes[i].n_parts)
            return false;
        w->mode = modes[i].mode;
        for (uint32_t k = 0; k < modes[i].n_numbers; k++)
            if (!qrn_read_double(part[1 + k], &w->arg[k]))
                return false;
        if (w->mode == QRN_CMP_FLOAT || w->mode == QRN_CMP_ULP || w->mode == QRN_CMP_ULP16)
            w->nan_ok = strcmp(part[n - 1], "1") == 0;
        if (w->mode == QRN_CMP_QUANT)
            return qrn_read_i64(part[4], &w->code_range[0]) &&
                   qrn_read_i64(part[5], &w->code_range[1]);
        return true;
    }
    return false;
}

static bool read_pair(const char *scale, const char *offset, float *s, int32_t *o) {
    double d = 0;
    int64_t i = 0;
    if (!qrn_read_double(scale, &d) || !qrn_read_i64(offset, &i))
        return false;
    *s = (float)d;
    *o = (int32_t)i;
    return i >= INT32_MIN && i <= INT32_MAX;
}

// An array in the blob. The API's structures take pointers to non-const.
static bool read_array(const qrn_case_file *f, const char *text, size_t item, void *pointer,
                       uint32_t *count) {
    qrn_bytes b;
    if (!qrn_read_bytes(f, text, &b) || b.size % item || b.size / item > UINT32_MAX)
        return false;
    void *data = (void *)(uintptr_t)b.data;
    memcpy(pointer, &data, sizeof data);
    *count = (uint32_t)(b.size / item);
    return true;
}

static bool read_small_int(const char *text, int64_t low, int64_t high, int64_t *out) {
    return qrn_read_i64(text, out) && *out >= low && *out <= high;
}

static bool read_expansion(const qrn_case_file *f, char **part, qrn_case_tensor *t) {
    Qnn_BlockwiseExpansion_t *e = &t->expansion;
    int64_t axis = 0, blocks = 0, bits = 0, storage = 0;
    uint32_t pairs = 0, factors = 0;
    if (!read_small_int(part[1], -QRN_CASE_RANK, QRN_CASE_RANK, &axis) ||
        !read_array(f, part[2], sizeof *e->scaleOffsets, &e->scaleOffsets, &pairs) ||
        !read_small_int(part[3], 1, 1 << 20, &blocks) || !read_small_int(part[4], 1, 16, &bits) ||
        !read_small_int(part[5], 8, 16, &storage) || storage % 8 ||
        !read_array(f, part[6], (size_t)storage / 8, &e->blocksScale8, &factors))
        return false;
    int64_t dim = axis < 0 ? axis + t->shape.rank : axis;
    if (dim < 0 || dim >= t->shape.rank || pairs != t->shape.dims[dim] ||
        factors != pairs * (uint64_t)blocks)
        return false;
    e->axis = (int32_t)axis;
    e->numBlocksPerAxis = (uint32_t)blocks;
    e->blockScaleBitwidth = (uint32_t)bits;
    e->blockScaleStorageType = storage == 8 ? QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_8
                                            : QNN_BLOCKWISE_EXPANSION_BITWIDTH_SCALE_STORAGE_16;
    t->quant.quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCKWISE_EXPANSION;
    t->quant.blockwiseExpansion = e;
    return true;
}

static bool read_block(const qrn_case_file *f, char **part, qrn_case_tensor *t, bool is_float) {
    Qnn_QuantizeParams_t *q = &t->quant;
    uint32_t rank = 0, pairs = 0;
    uint32_t *block = NULL;
    if (!read_array(f, part[1], sizeof *block, &block, &rank) || rank != t->shape.rank)
        return false;
    uint64_t need = 1;
    for (uint32_t i = 0; i < rank; i++) {
        if (block[i] == 0)
            return false;
        need *= ((uint64_t)t->shape.dims[i] + block[i] - 1) / block[i];
    }
    if (is_float) {
        Qnn_FloatBlockEncoding_t *e = &q->floatBlockEncoding;
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_FLOAT_BLOCK;
        e->blockSize = block;
        return read_array(f, part[2], sizeof *e->floatScaleOffset, &e->floatScaleOffset, &pairs) &&
               pairs == need;
    }
    Qnn_BlockEncoding_t *e = &q->blockEncoding;
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BLOCK;
    e->blockSize = block;
    return read_array(f, part[2], sizeof *e->scaleOffset, &e->scaleOffset, &pairs) && pairs == need;
}

static bool read_bw_axis(const qrn_case_file *f, char **part, Qnn_QuantizeParams_t *q) {
    Qnn_BwAxisScaleOffset_t *e = &q->bwAxisScaleOffsetEncoding;
    int64_t bits = 0, axis = 0;
    uint32_t n_offsets = 0;
    q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_AXIS_SCALE_OFFSET;
    if (!read_small_int(part[1], 1, 32, &bits) ||
        !read_small_int(part[2], -QRN_CASE_RANK, QRN_CASE_RANK, &axis) ||
        !read_array(f, part[3], sizeof *e->scales, &e->scales, &e->numElements) ||
        !read_array(f, part[4], sizeof *e->offsets, &e->offsets, &n_offsets))
        return false;
    e->bitwidth = (uint32_t)bits;
    e->axis = (int32_t)axis;
    return !e->offsets || n_offsets == e->numElements;
}

bool qrn_read_encoding(const qrn_case_file *f, char *text, qrn_case_tensor *t) {
    Qnn_QuantizeParams_t *q = &t->quant;
    char *part[MAX_PARTS];
    int64_t number = 0;
    *q = (Qnn_QuantizeParams_t)QNN_QUANTIZE_PARAMS_INIT;
    if (strcmp(text, "none") == 0)
        return true;
    uint32_t n = split(text, part);
    q->encodingDefinition = QNN_DEFINITION_DEFINED;
    if (n == 3 && strcmp(part[0], "so") == 0) {
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_SCALE_OFFSET;
        return read_pair(part[1], part[2], &q->scaleOffsetEncoding.scale,
                         &q->scaleOffsetEncoding.offset);
    }
    if (n == 4 && strcmp(part[0], "bw") == 0) {
        Qnn_BwScaleOffset_t *e = &q->bwScaleOffsetEncoding;
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_BW_SCALE_OFFSET;
        if (!read_small_int(part[1], 1, 32, &number))
            return false;
        e->bitwidth = (uint32_t)number;
        return read_pair(part[2], part[3], &e->scale, &e->offset);
    }
    if (n == 3 && strcmp(part[0], "axis") == 0) {
        Qnn_AxisScaleOffset_t *e = &q->axisScaleOffsetEncoding;
        q->quantizationEncoding = QNN_QUANTIZATION_ENCODING_AXIS_SCALE_OFFSET;
        if (!read_small_int(part[1], -QRN_CASE_RANK, QRN_CASE_RANK, &number))
            return false;
        e->axis = (int32_t)number;
        return read_array(f, part[2], sizeof *e->scaleOffset, &e->scaleOffset, &e->numScaleOffsets);
    }
    if (n == 5 && strcmp(part[0], "bwaxis") == 0)
        return read_bw_axis(f, part, q);
    if (n == 7 && strcmp(part[0], "bwx") == 0)
        return read_expansion(f, part, t);
    if (n == 3 && strcmp(part[0], "block") == 0)
        return read_block(f, part, t, false);
    if (n == 3 && strcmp(part[0], "fblock") == 0)
        return read_block(f, part, t, true);
    return false;
}
