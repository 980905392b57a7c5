// SPDX-License-Identifier: MIT
//
// Writing the weights of a model. A matrix is decoded row by row of the file, brought to its form
// and place in memory, and written when it is complete; so memory holds one matrix of a layer. The
// embedding and the head keep the file's order and are written row by row.
#include "frontend/llm/weights.h"

#include "base/fp16.h"
#include "base/mem.h"
#include "frontend/llm/block_quant.h"
#include "frontend/llm/gguf_decode.h"
#include "frontend/onnx/reader/model.h"

#include <math.h>
#include <string.h>

#define ALIGN 64 // of each part in the file, so that mapped weights are used where they lie

typedef struct job {
    const ql_llama *m;
    ql_weight_form form;
    const ql_sink *sink;
    qrn_arena *arena;
    ql_weights *out;
    size_t done, total; // tensors
} job;

// One matrix on its way: rows and columns as the graph has them.
typedef struct matrix {
    const ql_linear *l;
    ql_weight *w;
    bool transposed; // stored as [cols, rows]
    uint8_t *values, *zeros;
    float *scales, *rest;
    float *row; // decoded
} matrix;

static bool is_end(const job *j, const ql_linear *l) {
    return l->weight == j->m->embedding.weight || l->weight == j->m->head.weight;
}

static int type_of(const job *j, const ql_linear *l) {
    ql_ggml_type t = l->weight->type;
    bool blocks = l->cols % QL_BLOCK == 0;
    switch (j->form) {
    case QL_FORM_FP32:
        return OX_F32;
    case QL_FORM_W8:
        return blocks ? OX_I8 : OX_F32;
    case QL_FORM_W4:
        return !blocks ? OX_F32 : is_end(j, l) ? OX_I8 : t == QL_GGML_Q4_0 ? OX_U4 : OX_I4;
    case QL_FORM_KEEP:
        if (t == QL_GGML_F32)
            return OX_F32;
        if (t == QL_GGML_F16 || t == QL_GGML_BF16)
            return OX_F16;
        if (is_end(j, l))
            return OX_I8;
        return t == QL_GGML_Q4_0 ? OX_U4 : t == QL_GGML_Q4_1 || t == QL_GGML_Q4_K ? OX_I4 : OX_I8;
    default:
        return OX_F16;
    }
}

static bool is_quantized(int type) { return type == OX_I8 || type == OX_U4 || type == OX_I4; }

static size_t bytes_of(int type, uint64_t n) {
    return (size_t)(type == OX_F32 ? n * 4 : type == OX_F16 ? n * 2 : type == OX_I8 ? n : n / 2);
}

static size_t padded(size_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static qrn_status put(job *j, const void *data, size_t n, ql_span *span) {
    static const uint8_t nothing[ALIGN];
    size_t pad = (size_t)(padded((size_t)j->out->bytes) - j->out->bytes);
    if ((pad && !j->sink->write(j->sink->ctx, nothing, pad)) ||
        !j->sink->write(j->sink->ctx, data, n))
        return QRN_FAIL(QRN_E_SYSTEM, "the weights cannot be written");
    j->out->bytes += pad;
    *span = (ql_span){j->out->bytes, n};
    j->out->bytes += n;
    return QRN_OK;
}

static qrn_status new_weight(job *j, const ql_gguf_tensor *t, ql_weight **out) {
    ql_weight *w = qrn_arena_alloc(j->arena, sizeof *w);
    if (!w || !qrn_strmap_put(&j->out->by_name, t->name, w))
        return QRN_FAIL(QRN_E_MEM, "tensor '%s': no memory", t->name);
    w->name = t->name;
    *out = w;
    return QRN_OK;
}

// --- rows

static void put_nibble(uint8_t *to, size_t at, uint8_t v) {
    to[at / 2] |= (uint8_t)(v << (at % 2 * 4));
}

// Blocks of Q4_0 as they are: scale * (q - 8), or -scale * ((15 - q) - 7) where it is negative.
static void keep_q4_0(const uint8_t *block, uint8_t *q, float *scale, uint8_t *zero) {
    float d = qrn_f16_to_f32((uint16_t)(block[0] | block[1] << 8));
    bool flip = d < 0;
    for (int i = 0; i < QL_BLOCK; i++) {
        uint8_t v = i < 16 ? block[2 + i] & 15 : block[2 + i - 16] >> 4;
        q[i] = flip ? (uint8_t)(15 - v) : v;
    }
    *scale = fabsf(d);
    *zero = flip ? 7 : 8;
}

// Blocks of Q8_0 as they are, but for the sign of the scale: -128 has no opposite.
static bool keep_q8_0(const uint8_t *block, int8_t *q, float *scale) {
    float d = qrn_f16_to_f32((uint16_t)(block[0] | block[1] << 8));
    memcpy(q, block + 2, QL_BLOCK);
    for (int i = 0; i < QL_BLOCK && d < 0; i++) {
        if (q[i] == -128)
            return false;
        q[i] = (int8_t)-q[i];
    }
    *scale = fabsf(d);
    return true;
}

// The offset of a block with a minimum, of 15 steps at most: its values from 0 to 15 are what the
// decoder made of them, so they are found again. Scale and rest: x = scale * (q - 8) + rest.
static void keep_min(ql_block_min m, const float *x, uint8_t *q, float *scale, float *rest) {
    bool flip = m.scale < 0;
    float d = fabsf(m.scale), low = flip ? m.min - 15 * d : m.min;
    for (int i = 0; i < QL_BLOCK; i++)
        q[i] = d > 0 ? (uint8_t)fmaxf(0, fminf(15, rintf((x[i] - low) / d))) : 0;
    *scale = d;
    *rest = low + 8 * d;
}

// Place of number c of row r.
static size_t place(const matrix *x, uint32_t r, uint32_t c) {
    return x->transposed ? (size_t)c * x->l->rows + r : (size_t)r * x->l->cols + c;
}

static size_t block_place(const matrix *x, uint32_t r, uint32_t b) {
    return x->transposed ? (size_t)b * x->l->rows + r : (size_t)r * (x->l->cols / QL_BLOCK) + b;
}

static const uint8_t *block_in_file(const matrix *x, uint32_t row, uint32_t b) {
    uint32_t bytes = 0;
    ql_gguf_block(x->l->weight->type, &bytes);
    return x->l->weight->data + ((size_t)row * (x->l->cols / QL_BLOCK) + b) * bytes;
}

// Row r of the graph; `to` is the row that it becomes among those in memory.
static void store_floats(matrix *x, uint32_t to) {
    for (uint32_t c = 0; c < x->l->cols; c++) {
        size_t at = place(x, to, c);
        if (x->w->type == OX_F32)
            ((float *)(void *)x->values)[at] = x->row[c];
        else
            ((uint16_t *)(void *)x->values)[at] = qrn_f16_from_f64((double)x->row[c]);
    }
}

static void store_s8(matrix *x, bool keep, uint32_t from, uint32_t to) {
    for (uint32_t b = 0; b < x->l->cols / QL_BLOCK; b++) {
        int8_t q[QL_BLOCK];
        float *scale = &x->scales[block_place(x, to, b)];
        if (!keep || !keep_q8_0(block_in_file(x, from, b), q, scale))
            ql_block_s8(x->row + b * QL_BLOCK, q, scale);
        for (uint32_t i = 0; i < QL_BLOCK; i++)
            x->values[place(x, to, b * QL_BLOCK + i)] = (uint8_t)q[i];
    }
}

static void store_i4(matrix *x, bool keep, uint32_t from, uint32_t to) {
    for (uint32_t b = 0; b < x->l->cols / QL_BLOCK; b++) {
        uint8_t q[QL_BLOCK];
        size_t at = block_place(x, to, b);
        const float *row = x->row + b * QL_BLOCK;
        if (keep)
            keep_min(ql_gguf_min(x->l->weight, from, b), row, q, &x->scales[at], &x->rest[at]);
        else
            ql_block_i4(row, q, &x->scales[at], &x->rest[at]);
        for (uint32_t i = 0; i < QL_BLOCK; i++) // 8 less, in 4 bits of two's complement
            put_nibble(x->values, place(x, to, b * QL_BLOCK + i), q[i] ^ 8);
    }
}

static void store_u4(matrix *x, uint32_t from, uint32_t to) {
    for (uint32_t b = 0; b < x->l->cols / QL_BLOCK; b++) {
        uint8_t q[QL_BLOCK], zero = 0;
        float *scale = &x->scales[block_place(x, to, b)];
        keep_q4_0(block_in_file(x, from, b), q, scale, &zero);
        put_nibble(x->zeros, block_place(x, to, b), zero);
        for (uint32_t i = 0; i < QL_BLOCK; i++)
            put_nibble(x->values, place(x, to, b * QL_BLOCK + i), q[i]);
    }
}

// --- matrices

static qrn_status make_room(matrix *x, uint64_t n) {
    uint64_t blocks = n / QL_BLOCK;
    bool quantized = is_quantized(x->w->type);
    x->row = qrn_alloc(x->l->cols * sizeof *x->row);
    x->values = qrn_calloc(bytes_of(x->w->type, n));
    x->scales = quantized ? qrn_calloc((size_t)blocks * sizeof *x->scales) : NULL;
    x->zeros = x->w->type == OX_U4 ? qrn_calloc((size_t)(blocks + 1) / 2) : NULL;
    x->rest = x->w->type == OX_I4 ? qrn_calloc((size_t)blocks * sizeof *x->rest) : NULL;
    if (!x->row || !x->values || (quantized && !x->scales) || (x->w->type == OX_U4 && !x->zeros) ||
        (x->w->type == OX_I4 && !x->rest))
        return QRN_FAIL(QRN_E_MEM, "tensor '%s': no memory for %llu numbers", x->w->name,
                        (unsigned long long)n);
    return QRN_OK;
}

static void free_room(matrix *x) {
    qrn_free(x->row);
    qrn_free(x->values);
    qrn_free(x->scales);
    qrn_free(x->zeros);
    qrn_free(x->rest);
}

// Are the quantized values of the file those of the graph?
static bool keeps(const matrix *x) {
    ql_ggml_type t = x->l->weight->type;
    return (t == QL_GGML_Q8_0 && x->w->type == OX_I8) || x->w->type == OX_U4 ||
           ((t == QL_GGML_Q4_1 || t == QL_GGML_Q4_K) && x->w->type == OX_I4);
}

static qrn_status fill(job *j, matrix *x) {
    bool keep = keeps(x);
    for (uint32_t r = 0; r < x->l->rows; r++) {
        uint32_t from = ql_linear_row(x->l, r);
        ql_gguf_row(x->l->weight, from, x->row);
        for (uint32_t c = 0; c < x->l->cols; c++)
            if (!isfinite(x->row[c]))
                return QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' has numbers that are not finite",
                                j->m->file->path, x->w->name);
        if (x->w->type == OX_I8)
            store_s8(x, keep, from, r);
        else if (x->w->type == OX_I4)
            store_i4(x, keep, from, r);
        else if (x->w->type == OX_U4)
            store_u4(x, from, r);
        else
            store_floats(x, r);
    }
    return QRN_OK;
}

static void count(job *j, const matrix *x) {
    if (keeps(x))
        j->out->n_exact++;
    else if (x->scales)
        j->out->n_requantized++;
    if (j->sink->progress)
        j->sink->progress(j->sink->ctx, ++j->done, j->total);
}

static qrn_status write_matrix(job *j, const ql_linear *l) {
    matrix x = {.l = l, .transposed = !is_end(j, l)};
    uint64_t n = (uint64_t)l->rows * l->cols;
    QRN_TRY(new_weight(j, l->weight, &x.w));
    x.w->type = type_of(j, l);
    x.w->rank = 2;
    x.w->axis = x.transposed ? 0 : 1;
    x.w->dims[x.transposed ? 1 : 0] = l->rows;
    x.w->dims[x.transposed ? 0 : 1] = l->cols;
    qrn_status s = make_room(&x, n);
    if (s == QRN_OK)
        s = fill(j, &x);
    if (s == QRN_OK)
        s = put(j, x.values, bytes_of(x.w->type, n), &x.w->values);
    if (s == QRN_OK && x.scales)
        s = put(j, x.scales, (size_t)(n / QL_BLOCK) * sizeof *x.scales, &x.w->scales);
    if (s == QRN_OK && x.zeros)
        s = put(j, x.zeros, (size_t)(n / QL_BLOCK + 1) / 2, &x.w->zeros);
    if (s == QRN_OK && x.rest)
        s = put(j, x.rest, (size_t)(n / QL_BLOCK) * sizeof *x.rest, &x.w->rest);
    count(j, &x);
    free_room(&x);
    return s;
}

// A norm, or the bias of `l`.
static qrn_status write_vector(job *j, const ql_gguf_tensor *t, const ql_linear *l) {
    ql_weight *w = NULL;
    uint32_t n = (uint32_t)t->dims[0];
    QRN_TRY(new_weight(j, t, &w));
    float *in = qrn_alloc(n * sizeof *in), *out = qrn_alloc(n * sizeof *out);
    qrn_status s = in && out ? QRN_OK : QRN_FAIL(QRN_E_MEM, "tensor '%s': no memory", t->name);
    if (s == QRN_OK) {
        ql_gguf_row(t, 0, in);
        for (uint32_t i = 0; i < n; i++)
            out[i] = in[l ? ql_linear_row(l, i) : i];
        for (uint32_t i = 0; i < n && s == QRN_OK; i++)
            if (!isfinite(out[i]))
                s = QRN_FAIL(QRN_E_BINARY, "%.500s: tensor '%s' has numbers that are not finite",
                             j->m->file->path, t->name);
    }
    w->type = OX_F32;
    w->rank = 1;
    w->dims[0] = n;
    if (s == QRN_OK)
        s = put(j, out, n * sizeof *out, &w->values);
    qrn_free(in);
    qrn_free(out);
    return s;
}

static qrn_status write_linear(job *j, const ql_linear *l) {
    QRN_TRY(write_matrix(j, l));
    return l->bias ? write_vector(j, l->bias, l) : QRN_OK;
}

static qrn_status write_layer(job *j, const ql_llama_layer *l) {
    const ql_linear *const all[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
    QRN_TRY(write_vector(j, l->attn_norm, NULL));
    QRN_TRY(write_vector(j, l->ffn_norm, NULL));
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        QRN_TRY(write_linear(j, all[i]));
    return QRN_OK;
}

static uint64_t matrix_bytes(const job *j, const ql_linear *l) {
    uint64_t n = (uint64_t)l->rows * l->cols;
    int type = type_of(j, l);
    size_t bytes = padded(bytes_of(type, n));
    if (is_quantized(type))
        bytes += padded((size_t)(n / QL_BLOCK) * sizeof(float)) * (type == OX_I4 ? 2 : 1);
    if (type == OX_U4)
        bytes += padded((size_t)(n / QL_BLOCK + 1) / 2);
    return bytes + (l->bias ? padded(l->rows * sizeof(float)) : 0);
}

uint64_t ql_weights_bytes(const ql_llama *m, ql_weight_form form) {
    const job j = {.m = m, .form = form};
    uint64_t n = matrix_bytes(&j, &m->embedding);
    if (m->head.weight != m->embedding.weight)
        n += matrix_bytes(&j, &m->head);
    for (uint32_t i = 0; i < m->layers; i++) {
        const ql_llama_layer *l = &m->layer[i];
        const ql_linear *const all[] = {&l->q, &l->k, &l->v, &l->o, &l->gate, &l->up, &l->down};
        for (size_t k = 0; k < sizeof all / sizeof all[0]; k++)
            n += matrix_bytes(&j, all[k]);
    }
    return n + (2 * (uint64_t)m->layers + 1) * padded(m->hidden * sizeof(float));
}

qrn_status ql_weights_write(const ql_llama *m, ql_weight_form form, const ql_sink *sink,
                            qrn_arena *arena, ql_weights *out) {
    job j = {.m = m, .form = form, .sink = sink, .arena = arena, .out = out};
    j.total = 7 * (size_t)m->layers + (m->head.weight == m->embedding.weight ? 1 : 2);
    QRN_TRY(write_matrix(&j, &m->embedding));
    for (uint32_t i = 0; i < m->layers; i++)
        QRN_TRY(write_layer(&j, &m->layer[i]));
    QRN_TRY(write_vector(&j, m->output_norm, NULL));
    if (m->head.weight != m->embedding.weight)
        QRN_TRY(write_matrix(&j, &m->head));
    return ql_gguf_check(m->file);
}
