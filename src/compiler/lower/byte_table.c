// SPDX-License-Identifier: MIT
//
// Building look-up tables for fixed-point operands.
#include "compiler/lower/byte_table.h"

#include "base/cpu.h"
#include "kernels/convert.h"
#include "kernels/eltwise/lut.h"

#include <string.h>

#define BYTE_VALUES 256 // of a byte, and computed at a time
#define MAX_INPUTS 3

static bool one_scale(const qrn_tensor *t) { return t->quant.kind <= QRN_QUANT_TENSOR; }

static bool is_dense(const qrn_tensor *t) { return t->format == QRN_FORMAT_DENSE; }

// Entries of a table for operand t; 0: none is made.
static uint32_t table_size(const qrn_node *n, const qrn_tensor *t) {
    size_t count;
    uint32_t size = qrn_shape_count(&t->shape, &count) ? qrn_lut_size(t->dtype, count) : 0;
    return size == BYTE_VALUES || n->n_in == 1 ? size : 0;
}

static bool fits(const qrn_node *n, uint32_t x) {
    const qrn_tensor *in = n->in[x], *out = n->out[0];
    if (n->n_in > MAX_INPUTS || n->n_out != 1 || !is_dense(in) || !is_dense(out) ||
        table_size(n, in) == 0 || !one_scale(in) || !one_scale(out) ||
        qrn_dtypes[out->dtype].bits < 8 || qrn_tensor_is_static(in))
        return false;
    for (uint32_t i = 0; i < n->n_in; i++) {
        size_t count;
        if (i != x && n->in[i] &&
            (!qrn_tensor_is_static(n->in[i]) || !n->in[i]->data || n->in[i]->updateable ||
             !qrn_shape_count(&n->in[i]->shape, &count) || count != 1))
            return false;
    }
    return !in->updateable && !out->updateable;
}

// Runs the family's fastest row: in double, and in conversions, all have the same bits.
static qrn_status run(const qrn_family *f, qrn_domain domain, const qrn_kcall *k) {
    const qrn_kernel *kernel = qrn_kernel_select(f, domain, k, qrn_cpu_isa());
    return kernel ? kernel->fn(k) : QRN_E_UNSUPPORTED;
}

static qrn_status convert(qrn_view *from, qrn_view *to) {
    qrn_kcall k = {.in = &from, .out = &to, .n_in = 1, .n_out = 1, .n_tasks = 1};
    return run(&qrn_family_convert, QRN_DOMAIN_RAW, &k);
}

// BYTE_VALUES quantized values from `first` on, of 8 or 16 bits.
static void fill_quantized(uint32_t bits, uint32_t first, uint16_t *quantized) {
    for (uint32_t i = 0; i < BYTE_VALUES; i++)
        if (bits == 8)
            ((uint8_t *)quantized)[i] = (uint8_t)i;
        else
            quantized[i] = (uint16_t)(first + i);
}

// The reals of BYTE_VALUES quantized values of the type from `first` on, through the op, quantized
// as the output.
static qrn_status fill(const qrn_node *n, uint32_t x, const qrn_cop *op, const void *args,
                       uint32_t first, void *table) {
    uint16_t quantized[BYTE_VALUES];
    double reals[BYTE_VALUES], results[BYTE_VALUES], constants[MAX_INPUTS];
    const qrn_tensor *in = n->in[x], *out = n->out[0];
    qrn_view q = {.data = quantized,
                  .quant = &in->quant,
                  .dtype = in->dtype,
                  .rank = 1,
                  .dims = {BYTE_VALUES}};
    qrn_view real = {.data = reals, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {BYTE_VALUES}};
    qrn_view result = {.data = results, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {BYTE_VALUES}};
    qrn_view entry = {
        .data = table, .quant = &out->quant, .dtype = out->dtype, .rank = 1, .dims = {BYTE_VALUES}};
    qrn_view others[MAX_INPUTS], *ins[MAX_INPUTS] = {0}, *outs[1] = {&result};
    fill_quantized(qrn_dtypes[in->dtype].bits, first, quantized);
    QRN_TRY(convert(&q, &real));
    for (uint32_t i = 0; i < n->n_in; i++) {
        const qrn_tensor *t = n->in[i];
        if (i == x || !t) {
            ins[i] = t ? &real : NULL;
            continue;
        }
        qrn_view stored = {
            .data = (void *)(uintptr_t)t->data, .quant = &t->quant, .dtype = t->dtype};
        stored.rank = t->shape.rank;
        for (uint32_t d = 0; d < t->shape.rank; d++)
            stored.dims[d] = 1;
        constants[i] = qrn_view_real(&stored, 0);
        others[i] =
            (qrn_view){.data = &constants[i], .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {1}};
        ins[i] = &others[i];
    }
    qrn_kcall k = {.args = args, .in = ins, .out = outs, .n_in = n->n_in, .n_out = 1, .n_tasks = 1};
    QRN_TRY(run(op->family, QRN_DOMAIN_F64, &k));
    return convert(&result, &entry);
}

static bool same_encoding(const qrn_tensor *x, const qrn_tensor *y) {
    return x->dtype == y->dtype && x->quant.scale == y->quant.scale &&
           x->quant.offset == y->quant.offset;
}

// Is the table one of conversions to the output's encoding? So it is for a Relu whose smallest
// result is the smallest quantized value. Arithmetic then takes less time than look-ups in 128 KiB,
// and a conversion to the same encoding none.
static qrn_status only_converts(const qrn_node *n, const qrn_cop *op, const void *args, bool *is) {
    const qrn_tensor *in = n->in[0], *out = n->out[0];
    uint32_t bits = qrn_dtypes[in->dtype].bits, values = bits == 8 ? BYTE_VALUES : UINT16_MAX + 1;
    uint16_t quantized[BYTE_VALUES], results[BYTE_VALUES], converted[BYTE_VALUES];
    qrn_view q = {.data = quantized,
                  .quant = &in->quant,
                  .dtype = in->dtype,
                  .rank = 1,
                  .dims = {BYTE_VALUES}};
    qrn_view y = {.data = converted,
                  .quant = &out->quant,
                  .dtype = out->dtype,
                  .rank = 1,
                  .dims = {BYTE_VALUES}};
    *is = n->n_in == 1 && qrn_dtype_is_fixed(in->dtype) && qrn_dtype_is_fixed(out->dtype) &&
          qrn_dtypes[out->dtype].bits == bits && (bits == 16 || same_encoding(in, out));
    for (uint32_t first = 0; *is && first < values; first += BYTE_VALUES) {
        fill_quantized(bits, first, quantized);
        QRN_TRY(fill(n, 0, op, args, first, results));
        QRN_TRY(convert(&q, &y));
        *is = memcmp(results, converted, BYTE_VALUES * bits / 8) == 0;
    }
    return QRN_OK;
}

qrn_status qrn_lower_byte_table(qrn_lowering *lo, const qrn_node *n, uint32_t x, const qrn_cop *op,
                                const void *args) {
    if (!fits(n, x))
        return QRN_E_UNSUPPORTED;
    bool converts;
    QRN_TRY(only_converts(n, op, args, &converts));
    const qrn_tensor *out = n->out[0];
    qrn_shape shape = {.rank = 1, .dims = {table_size(n, n->in[x])}};
    size_t elem = qrn_dtypes[out->dtype].bits / 8;
    qrn_val ins[2], y;
    void *table;
    if (converts) {
        QRN_TRY(qrn_lo_tensor(lo, n->in[0], &ins[0]));
        QRN_TRY(qrn_lo_tensor(lo, out, &y));
        return qrn_lo_step(lo, &qrn_cop_convert, QRN_DOMAIN_RAW, NULL, ins, 1, &y, 1, 0);
    }
    QRN_TRY(qrn_lo_const(lo, out->dtype, &shape, &out->quant, &ins[1], &table));
    for (uint32_t first = 0; first < shape.dims[0]; first += BYTE_VALUES)
        QRN_TRY(fill(n, x, op, args, first, (char *)table + first * elem));
    QRN_TRY(qrn_lo_tensor(lo, n->in[x], &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, out, &y));
    return qrn_lo_step(lo, &qrn_cop_lut, QRN_DOMAIN_RAW, NULL, ins, 2, &y, 1, 0);
}

// Conversions of bytes that the vector kernels do not know: truth values and plain integers.
static bool converts(const qrn_tensor *x, const qrn_tensor *y) {
    size_t count;
    return (x->dtype == QRN_DTYPE_B8 || x->dtype == QRN_DTYPE_U8) && is_dense(x) && is_dense(y) &&
           one_scale(y) && qrn_dtypes[y->dtype].bits >= 8 && !qrn_tensor_is_static(x) &&
           !x->updateable && qrn_shape_count(&x->shape, &count) && count > BYTE_VALUES;
}

qrn_status qrn_lower_byte_convert(qrn_lowering *lo, const qrn_node *n) {
    const qrn_tensor *x = n->in[0], *y = n->out[0];
    if (!converts(x, y))
        return QRN_E_UNSUPPORTED;
    uint8_t quantized[BYTE_VALUES];
    qrn_shape shape = {.rank = 1, .dims = {BYTE_VALUES}};
    qrn_val ins[2], out;
    void *table;
    for (unsigned i = 0; i < BYTE_VALUES; i++)
        quantized[i] = (uint8_t)i;
    QRN_TRY(qrn_lo_const(lo, y->dtype, &shape, &y->quant, &ins[1], &table));
    qrn_view q = {.data = quantized, .dtype = x->dtype, .rank = 1, .dims = {BYTE_VALUES}};
    qrn_view entry = {
        .data = table, .quant = &y->quant, .dtype = y->dtype, .rank = 1, .dims = {BYTE_VALUES}};
    qrn_convert_range(&q, &entry, 0, BYTE_VALUES, false);
    QRN_TRY(qrn_lo_tensor(lo, x, &ins[0]));
    QRN_TRY(qrn_lo_tensor(lo, y, &out));
    return qrn_lo_step(lo, &qrn_cop_lut, QRN_DOMAIN_RAW, NULL, ins, 2, &out, 1, 0);
}
