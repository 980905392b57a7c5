// SPDX-License-Identifier: MIT
//
// Arrays: creation, element access, statistics and comparison.
#include "tools/quern/array.h"

#include "base/mem.h"
#include "reference/number.h"
#include "tools/quern/output.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

size_t qt_element_size(int type) {
    qrn_dtype t = ox_type_dtype(type);
    return t == QRN_DTYPE_COUNT ? 0 : qrn_elem_of(t);
}

qrn_status qt_array_create(const char *what, int type, uint32_t rank, const uint64_t *dims,
                           qt_array *out) {
    size_t size = qt_element_size(type), count = 1, bytes = 0;
    if (!size)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: %s cannot be read or written", what,
                        ox_type_name(type));
    if (rank > OX_MAX_RANK)
        return QRN_FAIL(QRN_E_UNSUPPORTED, "%s: rank %u, at most %d", what, rank, OX_MAX_RANK);
    bool fits = true;
    for (uint32_t i = 0; i < rank; i++)
        fits = fits && dims[i] <= SIZE_MAX && qrn_mul_size(count, (size_t)dims[i], &count);
    if (!fits || !qrn_mul_size(count, size, &bytes)) {
        char shape[256];
        return QRN_FAIL(QRN_E_ARGUMENT, "%s: shape %s has too many elements", what,
                        qt_shape_text(rank, dims, shape, sizeof shape));
    }
    void *data = calloc(bytes ? bytes : 1, 1);
    if (!data)
        return QRN_FAIL(QRN_E_MEM, "%s: out of memory for %zu bytes", what, bytes);
    *out = (qt_array){.type = type, .rank = rank, .count = count, .bytes = bytes, .data = data};
    if (rank)
        memcpy(out->dims, dims, rank * sizeof *dims);
    return QRN_OK;
}

void qt_array_free(qt_array *a) {
    free(a->data);
    *a = (qt_array){0};
}

double qt_array_at(const qt_array *a, size_t i) {
    qrn_num v;
    size_t elem = qt_element_size(a->type);
    qrn_nums_read(&v, ox_type_dtype(a->type), (const char *)a->data + i * elem, 0, 1,
                  QRN_KIND_FLOAT);
    return v.f;
}

qt_stats qt_array_stats(const qt_array *a) {
    qt_stats s = {NAN, NAN, NAN, 0, 0};
    double sum = 0;
    size_t n = 0;
    for (size_t i = 0; i < a->count; i++) {
        double v = qt_array_at(a, i);
        if (isnan(v)) {
            s.n_nan++;
        } else if (isinf(v)) {
            s.n_inf++;
        } else {
            s.min = n && s.min < v ? s.min : v;
            s.max = n && s.max > v ? s.max : v;
            sum += v;
            n++;
        }
    }
    if (n)
        s.mean = sum / (double)n;
    return s;
}

void qt_compare(qt_comparison *c, const qt_array *got, const qt_array *want) {
    for (size_t i = 0; i < want->count; i++) {
        double g = qt_array_at(got, i), w = qt_array_at(want, i);
        if (!isfinite(g) || !isfinite(w)) {
            if ((isnan(g) && isnan(w)) || g == w) {
                c->n_both++;
            } else {
                c->n_mismatch++;
                c->error = c->max_error = INFINITY;
            }
            continue;
        }
        double e = fabs(g - w);
        if (e > c->max_error)
            c->max_error = e;
        c->signal += w * w;
        c->norm += g * g;
        c->dot += g * w;
        c->error += e * e;
    }
    c->count += want->count;
}

double qt_sqnr_db(const qt_comparison *c) {
    return c->error > 0 ? 10 * log10(c->signal / c->error) : INFINITY;
}

double qt_cosine(const qt_comparison *c) {
    if (c->n_mismatch)
        return 0;
    if (c->signal == 0 && c->norm == 0)
        return 1;
    return c->signal > 0 && c->norm > 0 ? c->dot / sqrt(c->signal * c->norm) : 0;
}
