// SPDX-License-Identifier: MIT
//
// Work space, packed weights and state of the vector rows of LSTM and GRU.
#include "kernels/gemm/tiles/gemm_f32.h"
#include "kernels/recurrent/recurrent_rows.h"

// Vectors that are multiplied with the weights of x at a time, about; the GEMM wants more of them.
#define VECTORS 32
#define GEMM_VECTORS 112

// Weights are packed where a call has so many vectors and steps; every task packs for itself and
// has n_steps vectors at least, so a few steps do not pay, however large the batch.
#define PACK_VECTORS 64
#define PACK_STEPS 16
#define PACK_UNITS 16          // fewer units: mostly padding
#define PACK_FLOATS (1u << 22) // more of them would cost each task more than 16 MiB

static size_t depth_of(const qrn_kcall *k) { return k->in[0]->dims[k->in[0]->rank - 1]; }

// Floats of a gate's packed weights.
static size_t gate_floats(const qrn_fast_layer *l, size_t depth) {
    return qrn_panels(l->units) * depth * QRN_PANEL;
}

// Floats of all packed weights of a task; 0: they are not packed. The answer must not depend on the
// number of tasks, because packed sums are added up in another order; and where small shapes are
// packed, large ones must be, because scratch is made for the largest.
static size_t packed_floats(const qrn_kcall *k, const qrn_fast_layer *l) {
    size_t floats = l->n_gates * (gate_floats(l, depth_of(k)) + gate_floats(l, l->units));
    bool pays = l->units >= PACK_UNITS && l->s.n_steps >= PACK_STEPS &&
                l->s.n_steps * l->s.batch >= PACK_VECTORS;
    return pays && floats <= PACK_FLOATS ? floats : 0;
}

static size_t wanted_vectors(const qrn_kcall *k, const qrn_fast_layer *l) {
    return packed_floats(k, l) ? GEMM_VECTORS : VECTORS;
}

// Steps whose products with x fill that many vectors.
static size_t steps_of(const qrn_kcall *k, const qrn_fast_layer *l, size_t rows) {
    size_t n = wanted_vectors(k, l), steps = rows < n ? n / (rows ? rows : 1) : 1;
    return steps < l->s.n_steps ? steps : l->s.n_steps;
}

static size_t vectors_of(const qrn_kcall *k, const qrn_fast_layer *l) {
    size_t n = wanted_vectors(k, l);
    return l->s.batch < n ? n : l->s.batch;
}

static size_t floats_of(const qrn_kcall *k, const qrn_fast_layer *l) {
    size_t width = l->n_gates * l->units;
    return vectors_of(k, l) * width + l->s.batch * (width + 3 * l->units);
}

static size_t task_bytes(const qrn_kcall *k, const qrn_fast_layer *l) {
    size_t pointers = vectors_of(k, l) + 2 * l->s.batch;
    size_t floats = packed_floats(k, l) + floats_of(k, l);
    return (pointers * sizeof(float *) + floats * sizeof(float) + 63) / 64 * 64;
}

size_t qrn_fast_scratch(const qrn_kcall *k, const qrn_fast_layer *l) {
    return k->n_tasks * task_bytes(k, l);
}

qrn_fast_room qrn_fast_room_of(const qrn_kcall *k, const qrn_fast_layer *l) {
    qrn_fast_room m;
    size_t end, width = l->n_gates * l->units;
    qrn_split(l->s.batch, 1, k->task, k->n_tasks, &m.first, &end);
    m.rows = end - m.first;
    m.steps = steps_of(k, l, m.rows);
    size_t n_packed = packed_floats(k, l);
    float *packed = (float *)(void *)((char *)k->scratch + k->task * task_bytes(k, l));
    m.wx = n_packed ? packed : NULL;
    m.wh = n_packed ? packed + l->n_gates * gate_floats(l, depth_of(k)) : NULL;
    m.x_rows = (const float **)(void *)(packed + n_packed);
    m.h_rows = m.x_rows + vectors_of(k, l);
    m.gated_rows = m.h_rows + l->s.batch;
    m.gx = (float *)(void *)(m.gated_rows + l->s.batch);
    m.gh = m.gx + vectors_of(k, l) * width;
    m.h = m.gh + m.rows * width;
    m.c = m.h + m.rows * l->units;
    m.gated = m.c + m.rows * l->units;
    for (size_t b = 0; b < m.rows; b++) {
        m.h_rows[b] = m.h + b * l->units;
        m.gated_rows[b] = m.gated + b * l->units;
    }
    return m;
}

static const qrn_view *input(const qrn_kcall *k, uint32_t i) {
    return i && i < k->n_in ? k->in[i] : NULL;
}

static void pack_gates(const qrn_kcall *k, const qrn_fast_layer *l, const uint32_t *weights,
                       size_t depth, float *dst) {
    for (size_t g = 0; g < l->n_gates; g++)
        for (size_t j = 0; j < l->units; j += QRN_PANEL, dst += depth * QRN_PANEL)
            qrn_gemm_f32_pack_panel(k->in[weights[g]]->data, 1, depth, depth, l->units, j, dst);
}

void qrn_fast_pack(const qrn_kcall *k, const qrn_fast_layer *l, const qrn_fast_room *m) {
    if (m->wx)
        pack_gates(k, l, l->wx, depth_of(k), m->wx);
    if (m->wh)
        pack_gates(k, l, l->wh, l->units, m->wh);
}

static size_t state_of(const qrn_fast_layer *l) { return l->units * (l->n_gates == 4 ? 2 : 1); }

static void load_row(const qrn_view *v, const double *kept, size_t row, size_t n, float *to) {
    for (size_t i = 0; i < n; i++)
        to[i] = kept ? (float)kept[i] : v ? ((const float *)v->data)[row * n + i] : 0.0f;
}

void qrn_fast_begin(const qrn_kcall *k, const qrn_fast_layer *l, const qrn_fast_room *m) {
    for (size_t b = 0; b < m->rows; b++) {
        const double *state = row_state(k, m->first + b, state_of(l));
        const double *kept = continues(state, input(k, l->reset)) ? state + 1 : NULL;
        size_t n = l->units;
        load_row(input(k, l->h_init), kept, m->first + b, n, m->h + b * n);
        load_row(input(k, l->c_init), kept && l->n_gates == 4 ? kept + n : NULL, m->first + b, n,
                 m->c + b * n);
    }
}

static void store_rows(const qrn_kcall *k, uint32_t o, const qrn_fast_room *m, size_t n,
                       const float *from) {
    if (o && o < k->n_out && k->out[o])
        memcpy((float *)k->out[o]->data + m->first * n, from, m->rows * n * sizeof *from);
}

void qrn_fast_end(const qrn_kcall *k, const qrn_fast_layer *l, const qrn_fast_room *m) {
    size_t n = l->units;
    store_rows(k, l->h_out, m, n, m->h);
    store_rows(k, l->c_out, m, n, m->c);
    for (size_t b = 0; b < m->rows; b++) {
        double *state = row_state(k, m->first + b, state_of(l));
        if (!state)
            continue;
        state[0] = 1.0;
        for (size_t i = 0; i < n; i++) {
            state[1 + i] = (double)m->h[b * n + i];
            if (l->n_gates == 4)
                state[1 + n + i] = (double)m->c[b * n + i];
        }
    }
}
