// SPDX-License-Identifier: MIT
//
// Runs one call on every row of its family, each time with operands of its own in guarded memory,
// and compares. The reference's result becomes that of the call.
#include "prove.h"

#include "base/cpu.h"
#include "guard.h"
#include "kernels/gemm/gemv/weight_only.h"
#include "told.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OPERANDS 192
#define MAX_TASKS 5
#define SCRATCH_SLOT MAX_OPERANDS
#define MAX_FAMILIES 256

// How a row is run: where its operands lie, into how many parts it is cut, in which order they are
// done.
typedef struct manner {
    guard_side side;
    uint32_t threads;
    bool backwards;
    bool in_place;
    bool pieces; // element-wise families: ranges of the result, one call each
} manner;

static const manner manners[] = {
    {GUARD_BEHIND, 1, false, false, false}, {GUARD_BEFORE, 2, false, false, false},
    {GUARD_BEHIND, 3, true, false, false},  {GUARD_BEFORE, 4, true, false, false},
    {GUARD_BEHIND, 5, true, false, false},  {GUARD_BEHIND, 1, false, true, false},
    {GUARD_BEFORE, 3, true, true, false},   {GUARD_BEHIND, 1, false, false, true},
    {GUARD_BEHIND, 1, true, true, true},
};

// The operands of one run, and what they must hold afterwards.
typedef struct stage {
    qrn_view views[MAX_OPERANDS], *operands[MAX_OPERANDS];
    uint32_t shared; // input in whose memory out[0] lies, UINT32_MAX: none
} stage;

typedef struct result {
    void *data[MAX_OPERANDS]; // of the outputs
    uint32_t dims[MAX_OPERANDS][QRN_MAX_RANK], n_sparse[MAX_OPERANDS];
    qrn_status status;
} result;

static struct seen {
    const qrn_family *family;
    unsigned long calls[64]; // of each row
} seen[MAX_FAMILIES];

static unsigned long *calls_of(const qrn_family *f) {
    uint32_t i = 0;
    while (i + 1 < MAX_FAMILIES && seen[i].family && seen[i].family != f)
        i++;
    seen[i].family = f;
    return seen[i].calls;
}

void proof_rows(void (*see)(void *ctx, const char *family, const qrn_kernel *row, bool runs_here,
                            unsigned long calls),
                void *ctx) {
    for (uint32_t i = 0; i < MAX_FAMILIES && seen[i].family; i++)
        for (uint32_t r = 0; r < seen[i].family->n_rows; r++) {
            const qrn_kernel *row = &seen[i].family->rows[r];
            see(ctx, seen[i].family->name, row, (row->needs & ~qrn_cpu_isa()) == 0,
                seen[i].calls[r]);
        }
}

static uint32_t n_operands(const proof *p) { return p->call->n_in + p->call->n_out; }

static const qrn_view *operand(const proof *p, uint32_t i) {
    return i < p->call->n_in ? p->call->in[i] : p->call->out[i - p->call->n_in];
}

// The first input that the family lets out[0] share memory with, if the sizes allow it.
static uint32_t shared_input(const proof *p) {
    const qrn_kcall *k = p->call;
    const qrn_view *y = k->n_out ? k->out[0] : NULL;
    for (uint32_t i = 0; y && i < k->n_in && i < 32; i++)
        if (p->family->in_place >> i & 1 && k->in[i] && p->bytes[i] == p->bytes[k->n_in] &&
            qrn_view_count(k->in[i]) == qrn_view_count(y) &&
            qrn_view_elem(k->in[i]) == qrn_view_elem(y))
            return i;
    return UINT32_MAX;
}

// Puts the operands into guarded memory: inputs with their contents, outputs with a pattern.
static bool set_stage(const proof *p, const manner *m, stage *s) {
    s->shared = m->in_place ? shared_input(p) : UINT32_MAX;
    for (uint32_t i = 0; i < n_operands(p); i++) {
        const qrn_view *v = operand(p, i);
        s->operands[i] = v ? &s->views[i] : NULL;
        if (!v)
            continue;
        s->views[i] = *v;
        bool input = i < p->call->n_in;
        if (!input && i == p->call->n_in && s->shared != UINT32_MAX) {
            s->views[i].data = s->views[s->shared].data;
            continue;
        }
        s->views[i].data = guard_place(i, p->bytes[i], 1, m->side);
        if (!s->views[i].data)
            return false;
        if (input && p->bytes[i])
            memcpy(s->views[i].data, v->data, p->bytes[i]);
        else
            memset(s->views[i].data, 0x5a, p->bytes[i]);
    }
    return true;
}

static bool inputs_unchanged(const proof *p, const stage *s) {
    for (uint32_t i = 0; i < p->call->n_in; i++)
        if (s->operands[i] && i != s->shared && p->bytes[i] &&
            memcmp(s->views[i].data, p->call->in[i]->data, p->bytes[i]) != 0)
            return false;
    return true;
}

// What is said if the row goes astray.
static void announce(const proof *p, const qrn_kernel *row, const manner *m, const stage *s,
                     uint32_t n_tasks) {
    char words[400], shape[120] = "";
    for (uint32_t i = 0, n = 0; i < n_operands(p) && n < sizeof shape - 16; i++, shape[n] = 0)
        for (uint32_t d = 0; s->operands[i] && d < s->views[i].rank && n < sizeof shape - 16; d++)
            n += (uint32_t)snprintf(shape + n, sizeof shape - n, "%s%u", d ? "x" : " ",
                                    s->views[i].dims[d]);
    snprintf(words, sizeof words, "%s, %u tasks%s, operands end%s at a page's, shapes%s", row->name,
             n_tasks, m->pieces ? ", in pieces" : "",
             m->side == GUARD_BEHIND ? "" : " anywhere and begin", shape);
    guard_say(words);
}

// Ranges of the result of lengths from 1 to a 20th of it, or to 97, each by a call of its own.
static qrn_status run_pieces(const qrn_kernel *row, const manner *m, qrn_kcall *k) {
    size_t n = qrn_view_count(k->out[0]), most = n / 20 > 97 ? n / 20 : 97, from[256], count = 0;
    for (size_t at = 0; at < n && count < 255; at += 1 + (37 * count + at) % most)
        from[count++] = at;
    from[count] = n;
    qrn_status status = QRN_OK;
    for (size_t i = 0; i < count && status == QRN_OK; i++) {
        size_t piece = m->backwards ? count - 1 - i : i;
        k->begin = from[piece];
        k->end = from[piece + 1];
        status = row->fn(k);
    }
    return status;
}

static qrn_status run_tasks(const qrn_kernel *row, const manner *m, qrn_kcall *k) {
    qrn_status status = QRN_OK;
    for (uint32_t t = 0; t < k->n_tasks; t++) {
        k->task = m->backwards ? k->n_tasks - 1 - t : t;
        qrn_status one = row->fn(k);
        status = one == QRN_OK ? status : one;
    }
    return status;
}

static qrn_status run(proof *p, const qrn_kernel *row, const manner *m, stage *s) {
    qrn_kcall k = *p->call;
    k.in = s->operands;
    k.out = s->operands + k.n_in;
    k.n_tasks = MAX_TASKS; // scratch is planned for the most tasks a call can be cut into
    size_t scratch = row->scratch ? row->scratch(&k) : 0;
    k.scratch = scratch ? guard_place(SCRATCH_SLOT, scratch, 64, m->side) : NULL;
    if (scratch)
        memset(k.scratch, 0xa5, scratch);
    k.n_tasks = 1;
    k.task = 0;
    k.n_tasks = row->tasks && m->threads > 1 ? row->tasks(&k, m->threads) : 1;
    k.follower = p->family->reports ? told_begin(k.out[0]) : NULL;
    announce(p, row, m, s, k.n_tasks);
    qrn_status status = m->pieces ? run_pieces(row, m, &k) : run_tasks(row, m, &k);
    const char *wrong = k.follower && status == QRN_OK ? told_end() : NULL;
    if (wrong)
        snprintf(p->why, sizeof p->why, "%s, %u tasks: %s", row->name, k.n_tasks, wrong);
    return status;
}

// Bytes of an output that its current shape covers; kernels owe nothing about the others.
static size_t covered(const proof *p, const qrn_view *v, uint32_t operand_index) {
    size_t all = p->bytes[operand_index];
    size_t now = (qrn_view_count(v) * qrn_dtypes[v->dtype].bits + 7) / 8;
    return v->n_sparse_dims || now > all ? all : now;
}

static void keep(const proof *p, const stage *s, qrn_status status, result *r) {
    r->status = status;
    for (uint32_t i = 0; i < p->call->n_out; i++) {
        const qrn_view *v = s->operands[p->call->n_in + i];
        if (!v)
            continue;
        memcpy(r->dims[i], v->dims, sizeof r->dims[i]);
        r->n_sparse[i] = v->n_sparse;
        memcpy(r->data[i], v->data, p->bytes[p->call->n_in + i]);
    }
}

// The same bits, but for the payloads of NaNs, of which only that they are some counts.
static bool same_elements(const qrn_view *v, const void *other, size_t bytes) {
    size_t elem = qrn_view_elem(v);
    qrn_view was = *v;
    was.data = (void *)(uintptr_t)other;
    if (memcmp(v->data, other, bytes) == 0)
        return true;
    for (size_t i = 0; qrn_dtype_is_float(v->dtype) && i < bytes / elem; i++)
        if (memcmp((const char *)v->data + i * elem, (const char *)other + i * elem, elem) != 0 &&
            !(isnan(qrn_view_real(v, i)) && isnan(qrn_view_real(&was, i))))
            return false;
    return qrn_dtype_is_float(v->dtype);
}

static bool same(const proof *p, const stage *s, qrn_status status, const result *r) {
    if (status != r->status)
        return false;
    for (uint32_t i = 0; i < p->call->n_out && status == QRN_OK; i++) {
        const qrn_view *v = s->operands[p->call->n_in + i];
        if (v && (memcmp(v->dims, r->dims[i], sizeof v->dims) != 0 ||
                  !same_elements(v, r->data[i], covered(p, v, p->call->n_in + i))))
            return false;
    }
    return true;
}

// How far floats may be from the reference's, as a share of the largest magnitude of the output.
// Matmuls of fp16 activations and quantized weights are as good as fp16, to which they are rounded.
static double nearness(const proof *p, qrn_dtype t) {
    const qrn_weight_only_args *a = p->family == &qrn_family_weight_only ? p->call->args : NULL;
    if (a && a->fp16 && a->run <= QRN_GEMV_SHORT_RUN)
        t = QRN_DTYPE_F16;
    return t == QRN_DTYPE_F64    ? 1e-9
           : t == QRN_DTYPE_F32  ? 1e-4
           : t == QRN_DTYPE_BF16 ? 0x1p-7
                                 : 0x1p-9;
}

static bool near_floats(const proof *p, const qrn_view *like, const void *want, const void *got,
                        size_t n) {
    qrn_view a = *like, b = *like;
    a.data = (void *)(uintptr_t)want;
    b.data = (void *)(uintptr_t)got;
    double top = 0;
    for (size_t i = 0; i < n; i++)
        if (isfinite(qrn_view_real(&a, i)))
            top = fmax(top, fabs(qrn_view_real(&a, i)));
    for (size_t i = 0; i < n; i++) {
        double w = qrn_view_real(&a, i), g = qrn_view_real(&b, i);
        if (!(isnan(w) && isnan(g)) && w != g && !(fabs(w - g) <= nearness(p, like->dtype) * top))
            return false;
    }
    return true;
}

// A row's result against the reference's.
static bool agrees(const proof *p, const result *want, const result *got) {
    if (want->status != got->status)
        return false;
    for (uint32_t i = 0; i < p->call->n_out && want->status == QRN_OK; i++) {
        if (!p->call->out[i])
            continue;
        qrn_view now = *p->call->out[i], *v = &now;
        memcpy(now.dims, want->dims[i], sizeof now.dims);
        size_t bytes = covered(p, v, p->call->n_in + i);
        if (memcmp(want->dims[i], got->dims[i], sizeof want->dims[i]) != 0)
            return false;
        if (memcmp(want->data[i], got->data[i], bytes) != 0 &&
            (!qrn_dtype_is_float(v->dtype) ||
             !near_floats(p, v, want->data[i], got->data[i], bytes / qrn_view_elem(v))))
            return false;
    }
    return true;
}

static bool allocate(const proof *p, result *r) {
    *r = (result){.status = QRN_OK};
    for (uint32_t i = 0; i < p->call->n_out; i++) {
        size_t bytes = p->bytes[p->call->n_in + i];
        if (p->call->out[i] && !(r->data[i] = malloc(bytes ? bytes : 1)))
            return false;
    }
    return true;
}

static void release(const proof *p, result *r) {
    for (uint32_t i = 0; i < p->call->n_out; i++)
        free(r->data[i]);
}

// All manners of one row; its result is left in r.
static bool prove_row(proof *p, const qrn_kernel *row, stage *s, result *r) {
    for (size_t m = 0; m < sizeof manners / sizeof manners[0]; m++) {
        const manner *how = &manners[m];
        if ((how->in_place && shared_input(p) == UINT32_MAX) ||
            (how->pieces && !p->family->element_wise) ||
            (!how->in_place && how->threads > 2 && !row->tasks))
            continue;
        if (!set_stage(p, how, s)) {
            snprintf(p->why, sizeof p->why, "out of guarded memory");
            return false;
        }
        qrn_status status = run(p, row, how, s);
        if (p->why[0])
            return false;
        if (!inputs_unchanged(p, s)) {
            snprintf(p->why, sizeof p->why, "%s writes to an input", row->name);
            return false;
        }
        if (m == 0)
            keep(p, s, status, r);
        else if (!same(p, s, status, r)) {
            snprintf(p->why, sizeof p->why, "%s: another result with %u threads%s%s%s", row->name,
                     how->threads, how->backwards ? ", last task first" : "",
                     how->side == GUARD_BEFORE ? ", operands at the begin of a page" : "",
                     how->pieces     ? ", in pieces"
                     : how->in_place ? ", in place"
                                     : "");
            return false;
        }
    }
    return true;
}

static bool takes(const proof *p, uint32_t row) {
    return !qrn_kernel_rejection(&p->family->rows[row], p->domain, p->call, qrn_cpu_isa());
}

// The first row called "..._ref" that takes the call: none behind it would ever be selected.
// Where there is no such row, the last that takes it. n_rows: none does.
static uint32_t reference_row(const proof *p) {
    uint32_t n = p->family->n_rows, last = n;
    for (uint32_t i = 0; i < n; i++) {
        const char *name = p->family->rows[i].name;
        if (!takes(p, i))
            continue;
        last = i;
        if (strlen(name) > 4 && strcmp(name + strlen(name) - 4, "_ref") == 0)
            break;
    }
    return last;
}

static bool prove_rows(proof *p, stage *s, result *want, result *got) {
    const qrn_family *f = p->family;
    unsigned long *calls = calls_of(f);
    const qrn_kernel *reference = NULL;
    uint32_t first = reference_row(p);
    for (uint32_t i = first + (first < f->n_rows); i-- > 0;) {
        const qrn_kernel *row = &f->rows[i];
        if (!takes(p, i))
            continue;
        if (!prove_row(p, row, s, reference ? got : want))
            return false;
        calls[i < 64 ? i : 63]++;
        if (reference && !agrees(p, want, got)) {
            snprintf(p->why, sizeof p->why, "%s: not the result of %s", row->name, reference->name);
            return false;
        }
        reference = reference ? reference : row;
    }
    if (!reference)
        snprintf(p->why, sizeof p->why, "%s: no row takes the call", f->name);
    return reference != NULL;
}

bool prove(proof *p) {
    static stage s; // large; proofs are made one at a time
    static result want, got;
    if (n_operands(p) > MAX_OPERANDS) {
        snprintf(p->why, sizeof p->why, "%u operands are too many", n_operands(p));
        return false;
    }
    bool ok = allocate(p, &want) && allocate(p, &got) && prove_rows(p, &s, &want, &got);
    if (ok) {
        p->status = want.status;
        for (uint32_t i = 0; i < p->call->n_out; i++) {
            qrn_view *v = p->call->out[i];
            if (!v)
                continue;
            memcpy(v->dims, want.dims[i], sizeof v->dims);
            v->n_sparse = want.n_sparse[i];
            memcpy(v->data, want.data[i], p->bytes[p->call->n_in + i]);
        }
    }
    release(p, &want);
    release(p, &got);
    return ok;
}
