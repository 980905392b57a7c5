// SPDX-License-Identifier: MIT
//
// DynamicQuantizeLSTM of com.microsoft: an LSTM whose weights are 8-bit integers, transposed. They
// become floats and the op an LSTM; activations are computed with as they are, not quantized.
#include "frontend/onnx/driver/nested.h"
#include "frontend/onnx/import/recurrent.h"

#include <string.h>

enum { X, W, R, W_SCALE = 8, W_ZERO, R_SCALE, R_ZERO, N_LSTM = 8 };

// A constant with one number for each direction, or for each row of each.
static qrn_status read_numbers(ox_import *im, const ox_node *n, uint32_t i, size_t directions,
                               size_t rows, const float **out, bool *each) {
    const ox_val *v = ox_input(im, n, i);
    *out = v ? ox_const_reals(im, n, i) : NULL;
    *each = v && ox_count(v) == directions * rows;
    if (v && !*out)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "input %u ('%s') must be constant", i, v->name);
    if (v && !*each && ox_count(v) != directions)
        return ox_fail(im, n, QRN_E_SHAPE, "input %u ('%s') has not the shape of its weights", i,
                       v->name);
    return QRN_OK;
}

// Weights [directions, depth, rows] as floats [directions, rows, depth], under a new name.
static qrn_status expand(ox_import *im, const ox_node *n, uint32_t i, uint32_t scale, uint32_t zero,
                         const char **name) {
    const ox_val *v = ox_input(im, n, i);
    if (!v || v->rank != 3 || (v->type != OX_I8 && v->type != OX_U8))
        return ox_fail(im, n, QRN_E_SHAPE, "input %u must be 8-bit integers of rank 3", i);
    size_t directions = v->dims[0], depth = v->dims[1], rows = v->dims[2];
    const float *from = ox_const_reals(im, n, i), *scales, *zeros;
    bool each_scale, each_zero;
    QRN_TRY(read_numbers(im, n, scale, directions, rows, &scales, &each_scale));
    QRN_TRY(read_numbers(im, n, zero, directions, rows, &zeros, &each_zero));
    if (!from || !scales)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "its weights and scales must be constant");
    float *to = ox_alloc(im, directions * depth * rows * sizeof *to);
    if (!to)
        return ox_no_memory(im);
    for (size_t d = 0; d < directions; d++)
        for (size_t k = 0; k < depth; k++)
            for (size_t r = 0; r < rows; r++) {
                float z = zeros ? zeros[each_zero ? d * rows + r : d] : 0;
                float s = scales[each_scale ? d * rows + r : d];
                to[(d * rows + r) * depth + k] = (from[(d * depth + k) * rows + r] - z) * s;
            }
    const uint32_t dims[] = {v->dims[0], v->dims[2], v->dims[1]};
    return ox_bind_const(im, OX_F32, 3, dims, to, name);
}

qrn_status ox_import_dynamic_lstm(ox_import *im, const ox_node *n) {
    const char **in = ox_alloc(im, N_LSTM * sizeof *in);
    ox_node lstm = *n;
    if (!in)
        return ox_no_memory(im);
    if (n->n_in <= R_SCALE)
        return ox_fail(im, n, QRN_E_SHAPE, "its weights have no scales");
    memcpy(in, n->in, N_LSTM * sizeof *in);
    QRN_TRY(expand(im, n, W, W_SCALE, W_ZERO, &in[W]));
    QRN_TRY(expand(im, n, R, R_SCALE, R_ZERO, &in[R]));
    ox_note(im, n, "have their weights expanded to floats", "QNN has no LSTM with 8-bit weights");
    lstm.op = "LSTM";
    lstm.domain = "";
    lstm.in = in;
    lstm.n_in = N_LSTM;
    return ox_import_one(im, &lstm);
}
