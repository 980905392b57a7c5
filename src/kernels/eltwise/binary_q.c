// SPDX-License-Identifier: MIT
//
// Scales and offsets of a binary op on quantized values, brought to fixed point.
#include "kernels/eltwise/binary_q.h"

#include "kernels/element_io.h"

#define FAR_OFFSET 30000.0 // 8 bits: values and offsets must fit 16 bits, products 32
#define FAR_OFFSET_16 1e6
#define MIN_BITS 10
#define MAX_BITS 22

static bool supports(const qrn_view *v, size_t elem) {
    return qrn_view_elem(v) == elem && qrn_dtype_is_fixed(v->dtype) && qrn_io_supports(v) &&
           v->quant->shift == 0.0f;
}

// Fixed point that holds `most` in `room` bits; false when too few binary places are left.
static bool choose_bits(qrn_binary_q *p, double most, int room) {
    int exponent;
    if (!(most < 0x1p20))
        return false;
    frexp(most, &exponent); // most < 2^exponent
    int bits = room - exponent;
    p->bits = bits < MAX_BITS ? (uint32_t)bits : MAX_BITS;
    return bits >= MIN_BITS;
}

// Factors as whole numbers. Their errors are known, so the middle of all errors is taken back.
static void plan_bytes(qrn_binary_q *p) {
    double middle = 0, most = 0;
    for (int i = 0; i < 2; i++) {
        double whole = rint(p->factor[i]), error = whole - p->factor[i];
        p->whole[i] = (int32_t)whole;
        middle += error * p->high / 2;
        most += fabs(error) * p->high / 2;
    }
    p->whole_start = (int32_t)floor(p->start - middle - most) - 1;
    p->slack = (int32_t)ceil(2 * most) + 3;
}

// The same in two parts; false when a factor does not fit 16 bits. Values are signed.
static bool plan_words(qrn_binary_q *p) {
    double most = 0x1p-6; // by far more than doubles can be off
    for (int i = 0; i < 2; i++) {
        double whole = rint(p->factor[i]), fine = rint((p->factor[i] - whole) * 0x1p15);
        if (fabs(whole) > INT16_MAX)
            return false;
        p->whole[i] = (int32_t)whole;
        p->fine[i] = (int32_t)fine;
        most += fabs(whole + fine * 0x1p-15 - p->factor[i]) * 0x1p15;
    }
    double start = p->start + (p->factor[0] + p->factor[1]) * 0x1p15;
    p->whole_start = (int32_t)floor(start - most);
    p->slack = (int32_t)ceil(2 * most) + 2; // the start and the fine part are cut off
    p->start -= 0x1p-8;                     // for those who compute in double
    return true;
}

// Is the ratio of scale i to that of the result exactly m, with no more than 10 binary places?
static bool is_round(const qrn_binary_q *p, int i, double m) {
    return rint(m * 0x1p10) == m * 0x1p10 && m * p->scale[2] == p->scale[i];
}

static bool plan_sum(qrn_binary_q *p) {
    double m[2] = {p->scale[0] / p->scale[2], p->scale[1] / p->scale[2]};
    // Then doubles are exact as well: 24 bits of the scale, 10 places, 18 bits of a sum in range.
    bool exact = is_round(p, 0, m[0]) && is_round(p, 1, m[1]) && fabs(p->offset[2]) < 100000;
    m[1] = p->op == QRN_BINARY_SUB ? -m[1] : m[1];
    double start = p->offset[0] * m[0] + p->offset[1] * m[1] + 0.5 - p->offset[2];
    double low = start + p->high * (fmin(m[0], 0) + fmin(m[1], 0));
    double high = start + p->high * (fmax(m[0], 0) + fmax(m[1], 0));
    if (!choose_bits(p, fmax(fabs(low), fabs(high)) + 1, 30))
        return false;
    double unit = ldexp(1, (int)p->bits);
    p->factor[0] = m[0] * unit;
    p->factor[1] = m[1] * unit;
    p->start = start * unit;
    if (p->high < 256)
        plan_bytes(p);
    else if (!plan_words(p))
        return false;
    if (exact) {
        double middle = p->high < 256 ? 0 : (p->factor[0] + p->factor[1]) * 0x1p15;
        p->slack = 0;
        p->start = start * unit;
        p->whole_start = (int32_t)(p->start + middle);
    }
    return true;
}

// Largest |q + offset|.
static double reach(const qrn_binary_q *p, int i) {
    return fmax(fabs(p->offset[i]), fabs(p->high + p->offset[i]));
}

static bool plan_product(qrn_binary_q *p) {
    double m = p->scale[0] * p->scale[1] / p->scale[2], start = 0.5 - p->offset[2];
    double product = reach(p, 0) * reach(p, 1) * m;
    if (!choose_bits(p, product + fabs(start) + 1, 31))
        return false;
    double unit = ldexp(1, (int)p->bits);
    p->factor[0] = m * unit;
    p->start = start * unit;
    if (p->high < 256) {
        // In float: products, factor, start and sum are rounded, to 2^-24 of each, for results that
        // lie in range; then the sum to a whole number.
        double in_range = fmin(product, 258 + fabs(start));
        double error = (3 * in_range + 2 * fabs(start)) * unit * 0x1p-24 + 1;
        p->start -= error;
        p->slack = (int32_t)ceil(2 * error) + 1;
    } else { // in double, exact to far less than that, then cut off
        p->start -= 0x1p-8;
        p->slack = 2; // the start may be cut off as well
    }
    return true;
}

bool qrn_binary_q_plan(const qrn_kcall *k, qrn_binary_q *p) {
    const qrn_binary_args *args = k->args;
    const qrn_view *v[3] = {k->in[0], k->in[1], k->out[0]};
    size_t elem = qrn_view_elem(v[2]);
    double far = elem == 1 ? FAR_OFFSET : FAR_OFFSET_16;
    if (args->op > QRN_BINARY_MUL)
        return false;
    *p = (qrn_binary_q){.op = args->op, .high = elem == 1 ? 255 : 65535};
    for (int i = 0; i < 3; i++) {
        if (!supports(v[i], elem))
            return false;
        bool flip = qrn_dtypes[v[i]->dtype].cls == QRN_CLASS_SFIXED;
        p->flip[i] = flip ? 1u << (8 * elem - 1) : 0;
        p->scale[i] = (double)v[i]->quant->scale;
        p->offset[i] = (double)v[i]->quant->offset - (double)p->flip[i];
        if (!(p->scale[i] > 0) || fabs((double)v[i]->quant->offset) > far)
            return false;
    }
    return args->op == QRN_BINARY_MUL ? plan_product(p) : plan_sum(p);
}
