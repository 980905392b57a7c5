// SPDX-License-Identifier: MIT
//
// The one rule about what a target whose floats are float16 may compute, for all front ends: the
// importer asks the client how floats are computed, so that nobody can forget to. A node is
//   rejected                            where integers must be exact: whatever is asked for, the
//                                       result would be wrong
//   rejected, or computed and reported  (ox_options.allow_fp16) where the result is only coarser
#include "frontend/onnx/driver/internal.h"
#include "frontend/onnx/import/lookup.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define STATICALLY "; quantize the model statically (QuantizeLinear, DequantizeLinear)"

// Ops without an op of QNN's own whose formula, or whose input already, loses too much.
static const struct {
    const char *op;
    bool exact; // its integers must be
    const char *why;
} formulas[] = {
    {"ConvInteger", true,
     "dynamic quantization: its integer sums would be computed in float16" STATICALLY},
    {"DynamicQuantizeLinear", true,
     "dynamic quantization: its scale and values would be computed in float16" STATICALLY},
    {"MatMulInteger", true,
     "dynamic quantization: its integer sums would be computed in float16" STATICALLY},
    {"Tan", false, "near its poles an input in float16 does not determine the result"},
};

static bool is_fp16(const ox_import *im) { return im->graph->client->floats == QC_FLOAT16; }

// The result is coarser than that of the model's own types.
static qrn_status coarser(ox_import *im, const ox_node *n, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
static qrn_status coarser(ox_import *im, const ox_node *n, const char *fmt, ...) {
    char why[256];
    va_list args;
    va_start(args, fmt);
    vsnprintf(why, sizeof why, fmt, args);
    va_end(args);
    if (!im->opt->allow_fp16)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "%s", why);
    ox_note(im, n, "are computed in float16", why);
    return QRN_OK;
}

qrn_status ox_check_fp16(ox_import *im, const ox_node *n) {
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0] && is_fp16(im); i++)
        if (n->domain[0] == '\0' && strcmp(n->op, formulas[i].op) == 0)
            return formulas[i].exact ? ox_fail(im, n, QRN_E_UNSUPPORTED, "%s", formulas[i].why)
                                     : coarser(im, n, "%s", formulas[i].why);
    return QRN_OK;
}

// Quotients by a power of two are exact, and so are 8-bit integers.
static bool divides_exactly(const ox_enc *enc) {
    int exponent;
    for (uint32_t i = 0; i < enc->n; i++)
        if (frexpf(enc->scales[i], &exponent) != 0.5f)
            return false;
    return true;
}

qrn_status ox_check_quantizing(ox_import *im, const ox_node *n, int from, int to,
                               const ox_enc *enc) {
    if (!is_fp16(im))
        return QRN_OK;
    if (!enc)
        return coarser(im, n, "its quantized values would come from a scale in float16");
    if (from == OX_I32 || ox_type_bits(to) > 8 || !divides_exactly(enc))
        return coarser(im, n, "its quantized values would come from a quotient in float16");
    return QRN_OK;
}

#define FLOAT16_BITS 11 // of the significand

// A tie is an odd number of half steps. Where the odd part of the scale has more bits than float16,
// so has its product with an odd number: no float16 is one, and QNN's Quantize, which rounds ties
// up, gives the quantized values of ONNX.
bool ox_quantizes_alike(const ox_import *im, const ox_val *x, int to, const ox_enc *enc) {
    int exponent;
    if (!is_fp16(im) || !x->made || x->type == OX_I32 || ox_type_bits(to) != 8 || !enc ||
        enc->n != 1 || enc->block)
        return false;
    float odd = frexpf(enc->scales[0], &exponent) * (float)(1 << FLOAT16_BITS);
    return odd != truncf(odd);
}

qrn_status ox_check_dequantizing(ox_import *im, const ox_node *n, int type) {
    unsigned bits = ox_type_bits(type);
    if (!is_fp16(im) || bits <= 8)
        return QRN_OK;
    if (bits <= 16)
        return coarser(im, n, "its 16-bit values would become float16 before they are scaled");
    return ox_fail(im, n, QRN_E_UNSUPPORTED,
                   "its %u-bit integers would become float16 before they are scaled", bits);
}

static bool reads_16_bits(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
        const ox_val *q = v && v->quantized ? v->quantized : v;
        if (q && q->enc && !q->data && ox_type_bits(q->type) == 16)
            return true;
    }
    return false;
}

// Is everything that the node makes quantized to 16 bits at once?
static bool makes_16_bits(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_val *v = n->out[i][0] ? ox_scope_find(im->scope, n->out[i]) : NULL;
        const ox_node *q = v ? v->consumer : NULL;
        if (v && (!q || strcmp(q->op, "QuantizeLinear") != 0 ||
                  ox_type_bits(ox_quantized_type(im, q)) != 16))
            return false;
    }
    return true;
}

// Ops whose values inside have narrow bounds, so that 16 bits hold them well.
static const char *const composed[] = {
    "AffineGrid",
    "Attention",
    "DFT",
    "LpNormalization",
    "MaxUnpool",
    "NegativeLogLikelihoodLoss",
    "RNN",
    "ReduceL1",
    "ReduceSumSquare",
    "Resize",
    "RoiAlign",
    "RotaryEmbedding",
    "SoftmaxCrossEntropyLoss",
};

bool ox_is_fixed16(const ox_import *im) { return im->fixed16; }

bool ox_wants_fixed16(const ox_import *im, const ox_node *n) {
    if (!is_fp16(im) || im->opt->allow_fp16 || n->domain[0] || !reads_16_bits(im, n))
        return false;
    for (size_t i = 0; i < sizeof composed / sizeof composed[0]; i++)
        if (strcmp(n->op, composed[i]) == 0)
            return true;
    return ox_has_lookup(n);
}

qrn_status ox_check_unit(ox_import *im, const ox_node *n, bool unit) {
    if (!is_fp16(im) || !(unit || makes_16_bits(im, n)) || !reads_16_bits(im, n))
        return QRN_OK;
    return coarser(im, n,
                   "this op has no 16-bit form here: it would be computed in float16, which is "
                   "coarser");
}
