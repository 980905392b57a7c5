// SPDX-License-Identifier: MIT
//
// The select and mux families.
#include "kernels/eltwise/choose.h"

#include "base/cpu.h"
#include "kernels/convert.h"
#include "kernels/eltwise/truth_rows.h"
#include "kernels/walk.h"

#include <string.h>

// Copies `count` elements of `size` bytes; the source advances by `step` elements (0: repeats).
static void copy_run(uint8_t *dst, const uint8_t *src, size_t step, size_t count, size_t size) {
    if (step == 1) {
        memcpy(dst, src, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++)
        memcpy(dst + i * size, src + i * step * size, size);
}

static bool is_true(const qrn_view *cond, size_t at) {
    switch (qrn_view_elem(cond)) {
    case 1:
        return ((const uint8_t *)cond->data)[at] != 0;
    case 2:
        return ((const uint16_t *)cond->data)[at] != 0;
    case 4:
        return ((const uint32_t *)cond->data)[at] != 0;
    default:
        return ((const uint64_t *)cond->data)[at] != 0;
    }
}

static qrn_status select_ref(const qrn_kcall *k) {
    const qrn_view *cond = k->in[0];
    const uint8_t *from[2] = {k->in[2]->data, k->in[1]->data};
    uint8_t *y = k->out[0]->data;
    size_t size = qrn_view_elem(k->out[0]);
    qrn_walk w;
    qrn_walk_broadcast(&w, k->out[0], k->in, 3);
    size_t c_step = qrn_walk_step(&w, 0);
    size_t step[2] = {qrn_walk_step(&w, 2), qrn_walk_step(&w, 1)};
    for (qrn_walk_run r = qrn_walk_begin(&w, k); qrn_walk_next(&w, &r);) {
        const uint8_t *src[2] = {from[0] + r.at[2] * size, from[1] + r.at[1] * size};
        // Stretches with the same truth are copied at once.
        for (size_t i = 0, n; i < r.count; i += n) {
            bool t = is_true(cond, r.at[0] + i * c_step);
            for (n = 1; i + n < r.count && is_true(cond, r.at[0] + (i + n) * c_step) == t;)
                n++;
            copy_run(y + (r.first + i) * size, src[t] + i * step[t] * size, step[t], n, size);
        }
    }
    return QRN_OK;
}

// Copies the elements of one option where the index says so. With `option` NULL the indices that
// choose no option are looked for, and `zero` (one element) is written there.
static void mux_pass(const qrn_kcall *k, qrn_view *option, int64_t number, const uint8_t *zero) {
    qrn_view *operands[2] = {k->in[0], option ? option : k->in[0]};
    const uint8_t *src = option ? option->data : zero;
    uint8_t *y = k->out[0]->data;
    size_t size = qrn_view_elem(k->out[0]);
    int64_t n_options = (int64_t)k->n_in - 1;
    qrn_walk w;
    qrn_walk_broadcast(&w, k->out[0], operands, 2);
    size_t c_step = qrn_walk_step(&w, 0), step = option ? qrn_walk_step(&w, 1) : 0;
    for (qrn_walk_run r = qrn_walk_begin(&w, k); qrn_walk_next(&w, &r);) {
        const uint8_t *from = option ? src + r.at[1] * size : src;
        size_t stretch = c_step ? 1 : r.count; // elements under one index
        for (size_t i = 0; i < r.count; i += stretch) {
            int64_t index = qrn_view_int(k->in[0], r.at[0] + i * c_step);
            if (option ? index == number : index < 0 || index >= n_options)
                copy_run(y + (r.first + i) * size, from + i * step * size, step, stretch, size);
        }
    }
}

static qrn_status mux_ref(const qrn_kcall *k) {
    // The zero point.
    double nothing = 0;
    uint64_t zero = 0;
    qrn_view real = {.data = &nothing, .dtype = QRN_DTYPE_F64, .rank = 1, .dims = {1}};
    qrn_view q = *k->out[0];
    q.data = &zero;
    q.rank = q.dims[0] = 1;
    qrn_convert_range(&real, &q, 0, 1, false);
    mux_pass(k, NULL, 0, (const uint8_t *)&zero);
    for (uint32_t i = 1; i < k->n_in; i++)
        mux_pass(k, k->in[i], (int64_t)i - 1, (const uint8_t *)&zero);
    return QRN_OK;
}

static uint32_t tasks(const qrn_kcall *k, uint32_t n_threads) {
    return qrn_walk_tasks(qrn_view_count(k->out[0]), n_threads);
}

static bool is_common(const qrn_kcall *k) {
    size_t size = qrn_view_elem(k->out[0]);
    size_t condition = qrn_view_elem(k->in[0]);
    return (condition == 1 && (size & (size - 1)) == 0) || (condition == 4 && size == 4);
}

// clang-format off
#define ROW(isa, ISA)                                                                              \
    {.name = "select_" #isa, .domain = QRN_DOMAIN_RAW, .needs = ISA, .works = is_common,           \
     .fn = qrn_select_##isa, .tasks = tasks}
// clang-format on

static const qrn_kernel select_rows[] = {
#ifdef __x86_64__
    ROW(avx512, QRN_ISA_AVX512),
    ROW(avx2, QRN_ISA_AVX2),
#endif
#ifdef __aarch64__
    ROW(neon, QRN_ISA_NEON),
#endif
    {.name = "select_ref", .domain = QRN_DOMAIN_RAW, .fn = select_ref, .tasks = tasks},
};
QRN_FAMILY(select, 0);

static const qrn_kernel mux_rows[] = {
    {.name = "mux_ref", .domain = QRN_DOMAIN_RAW, .fn = mux_ref, .tasks = tasks},
};
QRN_FAMILY(mux, 0);
