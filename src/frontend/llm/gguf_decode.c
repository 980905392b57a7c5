// SPDX-License-Identifier: MIT
//
// Decoders of GGUF's tensor types, one block each, by the formulas that ggml publishes. Scales and
// products are float32, as there: the numbers are the same to the bit where no FMA is used.
#include "frontend/llm/gguf_decode.h"

#include "base/fp16.h"

#include <stdio.h>
#include <string.h>

typedef void decoder(const uint8_t *block, float *out);

static float f16_at(const uint8_t *p) { return qrn_f16_to_f32((uint16_t)(p[0] | p[1] << 8)); }

static void decode_f32(const uint8_t *b, float *out) { memcpy(out, b, sizeof *out); }

static void decode_f16(const uint8_t *b, float *out) { *out = f16_at(b); }

static void decode_bf16(const uint8_t *b, float *out) {
    *out = qrn_bf16_to_f32((uint16_t)(b[0] | b[1] << 8));
}

static void decode_q8_0(const uint8_t *b, float *out) {
    float d = f16_at(b);
    for (int i = 0; i < 32; i++)
        out[i] = (float)(int8_t)b[2 + i] * d;
}

// Byte j of `nibbles` holds values j and j + 16; bit i of `high` is the fifth bit of value i.
static void decode_32(const uint8_t *nibbles, const uint8_t *high, int zero, float d, float m,
                      float *out) {
    uint32_t fifth = 0;
    if (high)
        memcpy(&fifth, high, sizeof fifth);
    for (int i = 0; i < 32; i++) {
        int q = (i < 16 ? nibbles[i] & 15 : nibbles[i - 16] >> 4) | (int)(fifth >> i & 1) << 4;
        out[i] = (float)(q - zero) * d + m;
    }
}

static void decode_q4_0(const uint8_t *b, float *out) {
    decode_32(b + 2, NULL, 8, f16_at(b), 0, out);
}

static void decode_q4_1(const uint8_t *b, float *out) {
    decode_32(b + 4, NULL, 0, f16_at(b), f16_at(b + 2), out);
}

static void decode_q5_0(const uint8_t *b, float *out) {
    decode_32(b + 6, b + 2, 16, f16_at(b), 0, out);
}

static void decode_q5_1(const uint8_t *b, float *out) {
    decode_32(b + 8, b + 4, 0, f16_at(b), f16_at(b + 2), out);
}

// Scale and minimum of part j of a Q4_K or Q5_K block: 6 bits each, the upper two of parts 4 to 7
// beside those of parts 0 to 3.
static void scale_k(const uint8_t *s, int j, float d, float dmin, float *scale, float *min) {
    int sc = j < 4 ? s[j] & 63 : (s[j + 4] & 15) | (s[j - 4] >> 6) << 4;
    int m = j < 4 ? s[j + 4] & 63 : s[j + 4] >> 4 | (s[j] >> 6) << 4;
    *scale = d * (float)sc;
    *min = dmin * (float)m;
}

// 8 parts of 32 values; bytes 32 g ... of `nibbles` hold parts 2 g and 2 g + 1, bit j of byte i of
// `high` the fifth bit of value i of part j.
static void decode_k45(const uint8_t *b, const uint8_t *high, const uint8_t *nibbles, float *out) {
    for (int j = 0; j < 8; j++) {
        float d, m;
        scale_k(b + 4, j, f16_at(b), f16_at(b + 2), &d, &m);
        for (int i = 0; i < 32; i++) {
            int q = nibbles[j / 2 * 32 + i] >> (j % 2 * 4) & 15;
            if (high)
                q |= (high[i] >> j & 1) << 4;
            out[j * 32 + i] = d * (float)q - m;
        }
    }
}

static void decode_q4_k(const uint8_t *b, float *out) { decode_k45(b, NULL, b + 16, out); }

static void decode_q5_k(const uint8_t *b, float *out) { decode_k45(b, b + 16, b + 48, out); }

// Two halves of 128 values, each of four parts of 32: 4 bits in 64 bytes, 2 more in 32 bytes; a
// scale for each 16 values.
static void decode_q6_k(const uint8_t *b, float *out) {
    float d = f16_at(b + 208);
    for (int i = 0; i < 256; i++) {
        int half = i / 128, part = i % 128 / 32, j = i % 32;
        int low = b[half * 64 + part % 2 * 32 + j] >> (part / 2 * 4) & 15;
        int high = b[128 + half * 32 + j] >> (part * 2) & 3;
        float scale = d * (float)(int8_t)b[192 + i / 16];
        out[i] = scale * (float)((low | high << 4) - 32);
    }
}

static decoder *const decoders[] = {
    [QL_GGML_F32] = decode_f32,   [QL_GGML_F16] = decode_f16,   [QL_GGML_BF16] = decode_bf16,
    [QL_GGML_Q8_0] = decode_q8_0, [QL_GGML_Q4_0] = decode_q4_0, [QL_GGML_Q4_1] = decode_q4_1,
    [QL_GGML_Q5_0] = decode_q5_0, [QL_GGML_Q5_1] = decode_q5_1, [QL_GGML_Q4_K] = decode_q4_k,
    [QL_GGML_Q5_K] = decode_q5_k, [QL_GGML_Q6_K] = decode_q6_k,
};
enum { N_DECODERS = sizeof decoders / sizeof decoders[0] };

qrn_status ql_gguf_decodable(const ql_gguf *g, const ql_gguf_tensor *t) {
    char list[128] = "";
    size_t at = 0;
    if ((unsigned)t->type < N_DECODERS && decoders[t->type])
        return QRN_OK;
    for (unsigned i = 0; i < N_DECODERS && at < sizeof list; i++)
        if (decoders[i])
            at += (size_t)snprintf(list + at, sizeof list - at, "%s%s", at ? ", " : "",
                                   ql_gguf_type_name((ql_ggml_type)i));
    return QRN_FAIL(QRN_E_UNSUPPORTED,
                    "%.500s: tensor '%s' is of type %s, which is not supported (%s are)", g->path,
                    t->name, ql_gguf_type_name(t->type), list);
}

void ql_gguf_row(const ql_gguf_tensor *t, uint64_t row, float *out) {
    uint32_t bytes = 0, block = ql_gguf_block(t->type, &bytes);
    uint64_t n = t->dims[0] / block;
    const uint8_t *p = t->data + row * n * bytes;
    for (uint64_t i = 0; i < n; i++)
        decoders[t->type](p + i * bytes, out + i * block);
}

ql_block_min ql_gguf_min(const ql_gguf_tensor *t, uint64_t row, uint64_t block) {
    uint32_t bytes = 0, n = ql_gguf_block(t->type, &bytes);
    const uint8_t *p = t->data + (row * (t->dims[0] / n) + block * 32 / n) * bytes;
    ql_block_min m = {f16_at(p), f16_at(p + 2)};
    if (t->type == QL_GGML_Q4_K) {
        scale_k(p + 4, (int)(block % 8), m.scale, m.min, &m.scale, &m.min);
        m.min = -m.min;
    }
    return m;
}
