// SPDX-License-Identifier: MIT
//
// What is not computed where floats are halves: ops without an op of QNN's own whose formula, or
// whose input already, loses so much there that the result says nothing. Integers must be exact.
#include "frontend/onnx/internal.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *op, *why;
} formulas[] = {
    {"ConvInteger", "its sums of integers would be computed in half precision"},
    {"DynamicQuantizeLinear", "its codes would come from a scale in half precision"},
    {"MatMulInteger", "its sums of integers would be computed in half precision"},
    {"Tan", "near its poles the input in half precision says nothing about the result"},
};

qrn_status ox_check_halves(ox_import *im, const ox_node *n) {
    for (size_t i = 0; i < sizeof formulas / sizeof formulas[0] && im->opt->floats_are_half; i++)
        if (n->domain[0] == '\0' && strcmp(n->op, formulas[i].op) == 0)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "%s", formulas[i].why);
    return QRN_OK;
}

// Quotients by a power of two are exact, and so are codes of 8 bits.
static bool divides_exactly(const ox_enc *enc) {
    int exponent;
    for (uint32_t i = 0; i < enc->n; i++)
        if (frexpf(enc->scales[i], &exponent) != 0.5f)
            return false;
    return true;
}

qrn_status ox_check_codes(ox_import *im, const ox_node *n, int from, int to, const ox_enc *enc) {
    if (!im->opt->floats_are_half)
        return QRN_OK;
    if (!enc)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its codes would come from a scale in half precision");
    if (from == OX_I32 || ox_type_bits(to) > 8 || !divides_exactly(enc))
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its codes would come from a quotient in half precision");
    return QRN_OK;
}

qrn_status ox_check_reals(ox_import *im, const ox_node *n, int type) {
    if (im->opt->floats_are_half && ox_type_bits(type) > 8)
        return ox_fail(im, n, QRN_E_UNSUPPORTED,
                       "its codes of %u bits would become halves before they are scaled",
                       ox_type_bits(type));
    return QRN_OK;
}

static bool reads_wide_codes(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_in; i++) {
        const ox_val *v = n->in[i][0] ? ox_scope_find(im->scope, n->in[i]) : NULL;
        if (v && v->quantized && !v->quantized->data && ox_type_bits(v->quantized->type) == 16)
            return true;
    }
    return false;
}

// Does everything that the node makes become 16-bit codes at once?
static bool makes_wide_codes(const ox_import *im, const ox_node *n) {
    for (uint32_t i = 0; i < n->n_out; i++) {
        const ox_val *v = n->out[i][0] ? ox_scope_find(im->scope, n->out[i]) : NULL;
        const ox_node *q = v ? v->consumer : NULL;
        if (v && (!q || strcmp(q->op, "QuantizeLinear") != 0 ||
                  ox_type_bits(ox_quantized_type(im, q)) != 16))
            return false;
    }
    return true;
}

qrn_status ox_check_unit(ox_import *im, const ox_node *n, bool unit) {
    if (!im->opt->floats_are_half || !(unit || makes_wide_codes(im, n)) || !reads_wide_codes(im, n))
        return QRN_OK;
    return ox_fail(im, n, QRN_E_UNSUPPORTED,
                   "there is no op for 16-bit codes: it would be computed in float16, which is "
                   "coarser");
}
