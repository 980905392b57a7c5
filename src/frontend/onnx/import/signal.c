// SPDX-License-Identifier: MIT
//
// Importers: Fourier transforms, and the constants that go with them. A DFT is a Stft of one frame
// for each row; the inverse transform is the forward one of the conjugate, conjugated and divided
// by the length.
#include "frontend/onnx/import/compose.h"
#include "frontend/onnx/import/table.h"

#include "reference/number.h"

#include <math.h>
#include <string.h>

#define MUL QNN_OP_ELEMENT_WISE_MULTIPLY
#define MOST_WEIGHTS (1u << 22) // of a transform that is a matrix
#define PI 3.14159265358979323846

// --- transforms

// signal [B, L, 1 or 2] to [B, frames, bins, 2].
static qc_tensor *stft(ox_expr *e, qc_tensor *signal, qc_tensor *window, uint32_t step,
                       uint32_t length, bool onesided) {
    if (!signal)
        return NULL;
    uint32_t dims[] = {signal->dims[0], (signal->dims[1] - length) / step + 1,
                       onesided ? length / 2 + 1 : length, 2};
    qc_tensor *y = ox_result_like(e, signal, 4, dims);
    qc_op o;
    ox_op(e->im, &o, e->n, QNN_OP_STFT);
    qc_in(&o, signal);
    if (window)
        qc_in(&o, window);
    qc_out(&o, y);
    qc_u32(&o, QNN_OP_STFT_PARAM_FRAME_STEP, step);
    qc_u32(&o, QNN_OP_STFT_PARAM_FRAME_LENGTH, length);
    qc_bool(&o, QNN_OP_STFT_PARAM_ONESIDED, onesided);
    return ox_ended(e, &o, y);
}

// x [rows, n, 2] with its imaginary part negated, all times `factor`.
static qc_tensor *conjugate(ox_expr *e, qc_tensor *x, double factor) {
    float v[] = {(float)factor, (float)-factor};
    uint32_t two = 2;
    return ox_binary(e, MUL, x, ox_floats(e, x, 1, &two, v));
}

// x [rows, n, c] cut or padded with zeros to length n.
static qc_tensor *with_length(ox_expr *e, qc_tensor *x, uint32_t n) {
    if (!x || x->dims[1] == n)
        return x;
    if (x->dims[1] > n)
        return ox_slice(e, x, 1, 0, n, 1);
    uint32_t pad[] = {0, 0, 0, n - x->dims[1], 0, 0};
    return ox_pad(e, x, pad, 0);
}

// The spectrum of a real signal of length n from its first half: the rest is the conjugate,
// mirrored. numpy's rule for what the first bin and the middle one hold: real numbers.
static qc_tensor *whole_spectrum(ox_expr *e, qc_tensor *x, uint32_t n) {
    int32_t *index = ox_alloc(e->im, n * sizeof *index);
    float *sign = ox_alloc(e->im, 2 * (size_t)n * sizeof *sign);
    uint32_t dims[] = {1, n, 2};
    if (!index || !sign) {
        e->s = QRN_FAIL(QRN_E_MEM, "out of memory");
        return NULL;
    }
    for (uint32_t k = 0; k < n; k++) {
        bool mirrored = k > n / 2;
        index[k] = (int32_t)(mirrored ? n - k : k);
        sign[2 * k] = 1;
        sign[2 * k + 1] = k == 0 || 2 * k == n ? 0 : mirrored ? -1 : 1;
    }
    x = ox_gather(e, with_length(e, x, n / 2 + 1), ox_ints(e, 1, &n, index), 1);
    return ox_binary(e, MUL, x, ox_floats(e, x, 3, dims, sign));
}

typedef struct dft {
    uint32_t axis, length;
    bool inverse, onesided;
} dft;

static qrn_status read_dft(ox_import *im, const ox_node *n, const ox_val *x, dft *d) {
    int64_t length, axis = -2;
    uint32_t count;
    if (!x || x->rank < 3 || x->dims[x->rank - 1] > 2)
        return ox_fail(im, n, QRN_E_SHAPE,
                       "needs an input of rank 3 or more with a last dimension "
                       "of 1 or 2");
    if (ox_version(im, n) < 20)
        axis = ox_attr_int(n, "axis", 1);
    else if (ox_input(im, n, 2) && (!ox_const_ints(im, n, 2, &axis, 1, &count) || count != 1))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "axis ('%s') must be constant", n->in[2]);
    QRN_TRY(ox_axis(im, n, axis, x->rank, &d->axis));
    if (d->axis == x->rank - 1)
        return ox_fail(im, n, QRN_E_SHAPE, "axis %u is that of real and imaginary parts", d->axis);
    d->inverse = ox_attr_int(n, "inverse", 0) != 0;
    d->onesided = ox_attr_int(n, "onesided", 0) != 0;
    length = x->dims[d->axis];
    if (d->inverse && d->onesided)
        length = 2 * (length - 1);
    if (ox_input(im, n, 1) && (!ox_const_ints(im, n, 1, &length, 1, &count) || count != 1))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "dft_length ('%s') must be constant", n->in[1]);
    if (length <= 0 || length > INT32_MAX)
        return ox_fail(im, n, QRN_E_SHAPE, "dft_length %lld", (long long)length);
    if (d->onesided && !d->inverse && x->dims[x->rank - 1] != 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "one side of the spectrum of a complex signal");
    if (d->onesided && d->inverse && x->dims[x->rank - 1] != 2)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "a spectrum without imaginary part");
    d->length = (uint32_t)length;
    return QRN_OK;
}

// Which number of the input counts as m-th of n with which sign of its imaginary part: the second
// half of a real signal's spectrum is the first one, mirrored. -1: beyond the input, 0.
static int64_t source_of(const dft *d, uint32_t length, uint32_t m, double *sign) {
    bool mirrored = d->inverse && d->onesided && m > d->length / 2;
    uint32_t at = mirrored ? d->length - m : m;
    *sign = mirrored ? -1 : 1;
    return at < length ? (int64_t)at : -1;
}

// The transform as a matrix [L * c, bins * 2]: one multiplication, for 16 bits, in which no op is a
// Fourier transform.
static qc_tensor *transform_by_matrix(ox_expr *e, const dft *d, qc_tensor *x, uint32_t rows) {
    if (!x)
        return NULL;
    uint32_t length = x->dims[1], c = x->dims[2], n = d->length;
    uint32_t bins = d->onesided && !d->inverse ? n / 2 + 1 : n;
    uint32_t parts = d->inverse && d->onesided ? 1 : 2;
    uint32_t dims[] = {length * c, bins * parts}, flat[] = {rows, length * c};
    uint32_t result[] = {rows, bins, parts};
    float *w = (uint64_t)dims[0] * dims[1] > MOST_WEIGHTS
                   ? NULL
                   : ox_alloc(e->im, (size_t)dims[0] * dims[1] * sizeof *w);
    if (!w) {
        e->s = ox_fail(e->im, e->n, QRN_E_UNSUPPORTED, "%u numbers are too many in 16 bits", n);
        return NULL;
    }
    double factor = d->inverse ? 1.0 / n : 1, turn = (d->inverse ? 2 : -2) * PI / n, sign;
    for (uint32_t m = 0; m < n; m++)
        for (uint32_t k = 0; k < bins; k++) {
            int64_t at = source_of(d, length, m, &sign);
            double angle = turn * (double)((uint64_t)m * k % n);
            float re = (float)(factor * cos(angle)), im = (float)(factor * sin(angle));
            float *row = at < 0 ? NULL : w + (size_t)at * c * dims[1] + (size_t)k * parts;
            if (!row)
                continue;
            row[0] += re;
            if (parts == 2)
                row[1] += im;
            if (c == 2) { // times i
                row[dims[1]] += (float)-sign * im;
                if (parts == 2)
                    row[dims[1] + 1] += (float)sign * re;
            }
        }
    qc_tensor *y =
        ox_matmul(e, ox_reshape(e, x, 2, flat), ox_floats(e, x, 2, dims, w), false, false);
    return ox_reshape(e, y, 3, result);
}

// x [rows, L, c] to [rows, bins, 2], or [rows, n, 1] for a real signal from its spectrum.
static qc_tensor *transform(ox_expr *e, const dft *d, qc_tensor *x, uint32_t rows) {
    uint32_t bins = d->onesided && !d->inverse ? d->length / 2 + 1 : d->length;
    uint32_t flat[] = {rows, bins, 2};
    bool real = d->inverse && d->onesided, complex = x && x->dims[2] == 2;
    if (!d->inverse || !complex) {
        x = with_length(e, x, d->length);
    } else {
        x = real ? whole_spectrum(e, x, d->length) : with_length(e, x, d->length);
        x = conjugate(e, x, 1);
    }
    x = stft(e, x, NULL, d->length, d->length, d->onesided && !d->inverse);
    x = ox_reshape(e, x, 3, flat);
    if (!d->inverse)
        return x;
    if (real)
        return ox_with(e, MUL, ox_slice(e, x, 2, 0, 1, 1), 1.0 / d->length);
    return conjugate(e, x, 1.0 / d->length);
}

static qrn_status import_dft(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0);
    dft d = {0};
    uint32_t dims[OX_MAX_RANK], moved[OX_MAX_RANK], perm[OX_MAX_RANK], back[OX_MAX_RANK];
    QRN_TRY(read_dft(im, n, v, &d));
    uint32_t rank = v->rank, rows = 1, at = 0;
    bool real = d.inverse && d.onesided;
    memcpy(dims, v->dims, sizeof dims);
    dims[d.axis] = d.onesided && !d.inverse ? d.length / 2 + 1 : d.length;
    dims[rank - 1] = real ? 1 : 2;
    QRN_TRY(ox_set_output(im, n, 0, v->type, rank, dims));
    for (uint32_t i = 0; i < rank; i++)
        if (i != d.axis && i != rank - 1) {
            rows *= v->dims[i];
            perm[at++] = i;
        }
    perm[at++] = d.axis;
    perm[at] = rank - 1;
    for (uint32_t i = 0; i < rank; i++) {
        back[perm[i]] = i;
        moved[i] = dims[perm[i]];
    }
    qc_tensor *x, *y;
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &x));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y));
    ox_expr e = ox_begin(im, n);
    uint32_t flat[] = {rows, v->dims[d.axis], v->dims[rank - 1]};
    if (d.axis != rank - 2)
        x = ox_transpose(&e, x, perm);
    x = ox_reshape(&e, x, 3, flat);
    x = ox_is_fixed16(im) ? transform_by_matrix(&e, &d, x, rows) : transform(&e, &d, x, rows);
    if (d.axis != rank - 2)
        x = ox_reshape(&e, x, rank, moved);
    ox_into(&e, y);
    if (d.axis != rank - 2)
        ox_transpose(&e, x, back);
    else
        ox_reshape(&e, x, rank, dims);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

static qrn_status import_stft(ox_import *im, const ox_node *n) {
    const ox_val *v = ox_input(im, n, 0), *w = ox_input(im, n, 2);
    int64_t step = 0, length = 0;
    uint32_t count = 0;
    if (!v || v->rank < 2 || v->rank > 3 || (w && w->rank != 1))
        return ox_fail(im, n, QRN_E_SHAPE, "signal or window has another rank than 3 and 1");
    if (!ox_const_ints(im, n, 1, &step, 1, &count) || count != 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "frame_step ('%s') must be constant", n->in[1]);
    length = w ? w->dims[0] : v->dims[1];
    if (ox_input(im, n, 3) && (!ox_const_ints(im, n, 3, &length, 1, &count) || count != 1))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "frame_length ('%s') must be constant", n->in[3]);
    bool onesided = ox_attr_int(n, "onesided", 1) != 0, complex = v->rank == 3 && v->dims[2] == 2;
    if (step <= 0 || step > INT32_MAX || length <= 0 || length > v->dims[1] ||
        (w && w->dims[0] != length))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "frames of %lld samples with steps of %lld",
                       (long long)length, (long long)step);
    if (onesided && complex)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "one side of the spectrum of a complex signal");
    uint32_t signal[] = {v->dims[0], v->dims[1], complex ? 2 : 1};
    uint32_t dims[] = {v->dims[0], (v->dims[1] - (uint32_t)length) / (uint32_t)step + 1,
                       (uint32_t)(onesided ? length / 2 + 1 : length), 2};
    qc_tensor *x, *window = NULL, *y;
    QRN_TRY(ox_set_output(im, n, 0, v->type, 4, dims));
    QRN_TRY(ox_in_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &x));
    if (w)
        QRN_TRY(ox_in_as(im, n, 2, OX_ONNX, QNN_DATATYPE_FLOAT_32, &window));
    QRN_TRY(ox_out_as(im, n, 0, OX_ONNX, QNN_DATATYPE_FLOAT_32, &y));
    ox_expr e = ox_begin(im, n);
    x = ox_reshape(&e, x, 3, signal);
    ox_into(&e, y);
    stft(&e, x, window, (uint32_t)step, (uint32_t)length, onesided);
    QRN_TRY(ox_done(&e));
    return ox_out_end(im, n, 0, OX_ONNX, y);
}

// --- constants

// Output 0 is these numbers in the type that attribute output_datatype names.
static qrn_status set_numbers(ox_import *im, const ox_node *n, const double *v, uint32_t rank,
                              const uint32_t *dims) {
    int type = (int)ox_attr_int(n, "output_datatype", OX_F32);
    qrn_dtype t = ox_type_dtype(type);
    size_t count = 1;
    for (uint32_t i = 0; i < rank; i++)
        count *= dims[i];
    char *data = ox_alloc(im, count * 8);
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    if (t == QRN_DTYPE_COUNT || t == QRN_DTYPE_B8 || t == QRN_DTYPE_BF16 || qrn_dtypes[t].bits < 8)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "output type %s", ox_type_name(type));
    for (size_t i = 0; i < count; i++) {
        qrn_num x = {.f = v[i]};
        qrn_nums_cast(&x, 1, QRN_KIND_FLOAT, t, QRN_CAST_WRAP);
        qrn_nums_store(&x, t, data + i * qrn_elem_of(t), 0, 1);
    }
    return ox_set_const(im, n, 0, type, rank, dims, data);
}

// a0 - a1 cos(2 pi i / n) + a2 cos(4 pi i / n).
static qrn_status import_window(ox_import *im, const ox_node *n) {
    static const struct {
        const char *op;
        double a[3];
    } windows[] = {{"HannWindow", {0.5, 0.5, 0}},
                   {"HammingWindow", {25.0 / 46.0, 1 - 25.0 / 46.0, 0}},
                   {"BlackmanWindow", {0.42, 0.5, 0.08}}};
    int64_t size = 0;
    uint32_t count = 0;
    const double *a = windows[0].a;
    if (!ox_const_ints(im, n, 0, &size, 1, &count) || count != 1)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "size ('%s') must be constant", n->in[0]);
    if (size <= 0 || size > (int64_t)1 << 26)
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "a window of %lld", (long long)size);
    for (size_t i = 0; i < sizeof windows / sizeof windows[0]; i++)
        if (strcmp(windows[i].op, n->op) == 0)
            a = windows[i].a;
    double *v = ox_alloc(im, (size_t)size * sizeof *v);
    if (!v)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    double period = (double)(ox_attr_int(n, "periodic", 1) ? size : size - 1);
    for (int64_t i = 0; i < size; i++) {
        double angle = 2 * PI * (double)i / period;
        v[i] = a[0] - a[1] * cos(angle) + a[2] * cos(2 * angle);
    }
    return set_numbers(im, n, v, 1, (uint32_t[]){(uint32_t)size});
}

// One triangle of the mel filter bank, from bin `low` over `mid` to `high`.
static void put_triangle(double *m, uint32_t columns, uint32_t column, int64_t low, int64_t mid,
                         int64_t high) {
    if (mid == low)
        m[(size_t)mid * columns + column] = 1;
    for (int64_t j = low; mid > low && j <= mid; j++)
        m[(size_t)j * columns + column] = (double)(j - low) / (double)(mid - low);
    for (int64_t j = mid; j < high; j++)
        m[(size_t)j * columns + column] = (double)(high - j) / (double)(high - mid);
}

static qrn_status import_mel(ox_import *im, const ox_node *n) {
    int64_t p[3] = {0}; // number of bins, length of the DFT, sample rate
    float edge[2];
    uint32_t count;
    for (uint32_t i = 0; i < 3; i++)
        if (!ox_const_ints(im, n, i, &p[i], 1, &count) || count != 1)
            return ox_fail(im, n, QRN_E_UNSUPPORTED, "input %u must be constant", i);
    if (!ox_const_float(im, n, 3, &edge[0]) || !ox_const_float(im, n, 4, &edge[1]))
        return ox_fail(im, n, QRN_E_UNSUPPORTED, "the edges must be constant");
    if (p[0] <= 0 || p[0] > 65536 || p[1] <= 0 || p[1] > 65536 || p[2] <= 0 || !(edge[0] >= 0) ||
        !(edge[1] >= edge[0]))
        return ox_fail(im, n, QRN_E_SHAPE, "its parameters are out of range");
    uint32_t dims[] = {(uint32_t)(p[1] / 2 + 1), (uint32_t)p[0]};
    double *m = ox_alloc(im, (size_t)dims[0] * dims[1] * sizeof *m);
    int64_t *bins = ox_alloc(im, (size_t)(p[0] + 2) * sizeof *bins);
    if (!m || !bins)
        return QRN_FAIL(QRN_E_MEM, "out of memory");
    double low = 2595 * log1p((double)edge[0] / 700) / log(10);
    double high = 2595 * log1p((double)edge[1] / 700) / log(10);
    for (int64_t i = 0; i < p[0] + 2; i++) {
        double mel = (double)i * (high - low) / (double)(p[0] + 2) + low;
        double hertz = 700 * expm1(mel / 2595 * log(10));
        bins[i] = (int64_t)floor((double)(p[1] + 1) * hertz / (double)p[2]);
        if (bins[i] >= dims[0])
            return ox_fail(im, n, QRN_E_SHAPE, "upper_edge_hertz is above half the sample rate");
    }
    for (uint32_t i = 0; i < dims[1]; i++)
        put_triangle(m, dims[1], i, bins[i], bins[i + 1], bins[i + 2]);
    return set_numbers(im, n, m, 2, dims);
}

const ox_importer ox_import_signal[] = {
    {"DFT", "", import_dft},
    {"STFT", "", import_stft},
    {"HannWindow", "", import_window},
    {"HammingWindow", "", import_window},
    {"BlackmanWindow", "", import_window},
    {"MelWeightMatrix", "", import_mel},
    {0},
};
