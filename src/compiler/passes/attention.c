// SPDX-License-Identifier: MIT
//
// Pass "attention": matmul, scaling, mask, softmax and matmul in single precision become one step,
// which reads queries, keys and values where they lie (strided.h) and keys in up to two places, and
// writes its result in the order that a Transpose behind it would give it. Only where nobody else
// reads what is between. What is not read any more goes.
// Quantized values: the same without scaling, for few rows of queries; with more, packed matmuls
// are faster. What is between stays as outputs of the step, whose encodings it needs.
#include "compiler/passes/strided.h"

#include "kernels/attention/attention.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/gemm/matmul/matmul.h"
#include "kernels/move/join.h"
#include "kernels/move/layout.h"
#include "kernels/reduce/reduce.h"
#include "kernels/softmax/softmax.h"

#include <float.h>
#include <string.h>

#define MAX_WAY 6 // steps between softmax and matmuls

typedef struct pattern {
    uint32_t scores, softmax, product; // steps
    double scale;
    qrn_val mask;         // added to the scores, or QRN_VAL_NONE
    qrn_shape mask_shape; // of the scores where it is added
    qrn_val scaled;       // what is added to it, or the softmax reads
    qrn_val masked;       // the sum, or QRN_VAL_NONE
    uint32_t last;        // step whose result is written: the product, or a Transpose behind it
    qrn_domain domain;    // F32, or RAW: quantized values
} pattern;

typedef struct finder {
    qrn_lowering *lo;
    const qrn_use *uses;
} finder;

static const qrn_cvalue *value(const finder *f, qrn_val v) { return &f->lo->cg->values[v]; }
static qrn_cstep *step(const finder *f, uint32_t i) { return &f->lo->cg->steps[i]; }

static size_t count_of(const finder *f, qrn_val v) {
    size_t n = 0;
    qrn_shape_count(&value(f, v)->shape, &n); // was counted when it was made
    return n;
}

static bool rounds_in_place(const qrn_cstep *s, qrn_val v) {
    return s->op == &qrn_cop_round_fp16 && s->in[0] == v && s->out[0] == v;
}

// Does one step read the value, roundings in place apart, and nobody outside?
static bool has_one_reader(const finder *f, qrn_val v) {
    const qrn_use *u = &f->uses[v];
    return value(f, v)->kind == QRN_CV_TEMP && u->n_reads == u->n_writes;
}

static uint32_t reader_of(const finder *f, qrn_val v) {
    for (uint32_t i = f->uses[v].last_write; i < f->lo->cg->n_steps; i++)
        for (uint32_t k = 0; k < step(f, i)->n_in; k++)
            if (step(f, i)->in[k] == v)
                return i;
    return UINT32_MAX;
}

static bool only_reshapes(const qrn_cstep *s) {
    return s->op == &qrn_cop_copy ||
           (s->op == &qrn_cop_reshape && !((const qrn_reshape_args *)s->args)->read_shape);
}

// Are the quantized values of a score those of another, maybe with another encoding?
static bool keeps_scores(const finder *f, const qrn_cstep *s) {
    return only_reshapes(s) ||
           (s->op == &qrn_cop_cast && s->domain == QRN_DOMAIN_RAW &&
            qrn_dtype_is_fixed(value(f, s->out[0])->dtype) && qrn_pass_copies(f->lo, s));
}

static uint32_t last_dim(const finder *f, qrn_val v) {
    const qrn_shape *s = &value(f, v)->shape;
    return s->rank ? s->dims[s->rank - 1] : 0;
}

// --- finding it

static bool is_matmul(const finder *f, const qrn_cstep *s, qrn_domain domain) {
    const qrn_matmul_args *m = s->args;
    return s->op == &qrn_cop_matmul && s->domain == domain && qrn_pass_plain(f->lo->cg, s) &&
           !m->transpose_a && !m->flat && !m->clamp.on &&
           (s->n_in < 3 || s->in[2] == QRN_VAL_NONE) && value(f, s->in[0])->shape.rank >= 2 &&
           value(f, s->in[1])->shape.rank >= 2 &&
           value(f, s->in[0])->shape.rank <= value(f, s->out[0])->shape.rank;
}

// A sum of scores, which are operand *scores, and a mask.
static bool is_masking(const finder *f, const qrn_cstep *s, uint32_t scores, qrn_domain domain) {
    return s->op == &qrn_cop_binary && s->domain == domain &&
           ((const qrn_binary_args *)s->args)->op == QRN_BINARY_ADD &&
           count_of(f, s->in[scores]) == count_of(f, s->out[0]) &&
           value(f, s->in[scores])->shape.rank == value(f, s->out[0])->shape.rank;
}

// Back from the softmax over scalings, a mask and reshapes to the matmul of scores.
static bool find_scores(const finder *f, pattern *a, qrn_val v, uint32_t keys, uint32_t way) {
    uint32_t at = qrn_pass_maker(f->lo, f->uses, v), floats;
    double factor;
    if (way == 0 || at == UINT32_MAX || !has_one_reader(f, v) || last_dim(f, v) != keys ||
        !qrn_pass_plain(f->lo->cg, step(f, at)))
        return false;
    const qrn_cstep *s = step(f, at);
    if (is_matmul(f, s, a->domain)) {
        a->scores = at;
        return true;
    }
    if (keeps_scores(f, s))
        return find_scores(f, a, s->in[0], keys, way - 1);
    if (qrn_pass_scales(f->lo, s, &floats, &factor)) {
        a->scale *= factor;
        return find_scores(f, a, s->in[floats], keys, way - 1);
    }
    for (uint32_t i = 0; i < 2 && a->mask == QRN_VAL_NONE && a->scale == 1.0; i++) {
        if (!is_masking(f, s, i, a->domain))
            continue;
        a->mask = s->in[1 - i];
        a->scaled = s->in[i];
        a->masked = s->out[0];
        a->mask_shape = value(f, s->out[0])->shape;
        if (f->uses[a->mask].last_write <= at && find_scores(f, a, s->in[i], keys, way - 1))
            return true;
        a->mask = a->masked = QRN_VAL_NONE;
        a->scaled = step(f, a->softmax)->in[0];
        a->scale = 1.0;
    }
    return false;
}

static bool is_number(const finder *f, qrn_val v, float *number) {
    const float *data = value(f, v)->kind == QRN_CV_CONST && value(f, v)->dtype == QRN_DTYPE_F32 &&
                                count_of(f, v) == 1
                            ? qrn_compiled_data(f->lo->cg, v)
                            : NULL;
    *number = data ? *data : 0.0f;
    return data != NULL;
}

#define ALMOST_INFINITE -1e5f // below it is what the wide range of fp16 has in place of -infinity

// Does the step only make rows 0 that the mask hides as a whole, as attention does? "0 where the
// largest mask of the row is -infinity".
static bool clears_hidden_rows(const finder *f, const pattern *a, const qrn_cstep *s, qrn_val v) {
    float zero, least;
    if (s->op != &qrn_cop_select || s->in[2] != v || a->mask == QRN_VAL_NONE ||
        count_of(f, s->out[0]) != count_of(f, v) || !is_number(f, s->in[1], &zero) || zero != 0.0f)
        return false;
    uint32_t asks = qrn_pass_maker(f->lo, f->uses, s->in[0]);
    const qrn_cstep *c = asks == UINT32_MAX ? NULL : step(f, asks);
    if (!c || c->op != &qrn_cop_compare || c->domain != QRN_DOMAIN_F32 ||
        ((const qrn_binary_args *)c->args)->op != QRN_COMPARE_EQ ||
        !is_number(f, c->in[1], &least) || least > ALMOST_INFINITE)
        return false;
    uint32_t reduces = qrn_pass_maker(f->lo, f->uses, c->in[0]);
    const qrn_cstep *r = reduces == UINT32_MAX ? NULL : step(f, reduces);
    if (!r || r->op != &qrn_cop_reduce || r->domain != QRN_DOMAIN_F32 || r->in[0] != a->mask)
        return false;
    const qrn_reduce_args *args = r->args;
    uint32_t rank = value(f, a->mask)->shape.rank;
    bool wide = f->lo->cg->half == QRN_FP16_WIDE_RANGE, infinite = least < -FLT_MAX;
    return args->op == QRN_REDUCE_MAX && args->axes == UINT32_C(1) << (rank - 1) &&
           value(f, r->out[0])->shape.rank == rank && (wide || infinite);
}

// The matmul that reads the softmax, over reshapes.
static bool find_product(const finder *f, pattern *a, uint32_t keys) {
    qrn_val v = step(f, a->softmax)->out[0];
    for (int way = 0; way < MAX_WAY && has_one_reader(f, v) && last_dim(f, v) == keys; way++) {
        uint32_t at = reader_of(f, v);
        const qrn_cstep *s = at == UINT32_MAX ? NULL : step(f, at);
        if (!s || !qrn_pass_plain(f->lo->cg, s))
            return false;
        if (is_matmul(f, s, a->domain)) {
            a->product = at;
            return s->in[0] == v && s->in[1] != v;
        }
        if (!only_reshapes(s) && !clears_hidden_rows(f, a, s, v))
            return false;
        v = s->out[0];
    }
    return false;
}

// The last Transpose behind the product, over reshapes.
static void find_last(const finder *f, pattern *a) {
    qrn_val v = step(f, a->product)->out[0];
    a->last = a->product;
    for (int way = 0; way < MAX_WAY && has_one_reader(f, v); way++) {
        uint32_t at = reader_of(f, v);
        const qrn_cstep *s = at == UINT32_MAX ? NULL : step(f, at);
        if (!s || !qrn_pass_plain(f->lo->cg, s) ||
            (!only_reshapes(s) && s->op != &qrn_cop_transpose))
            return;
        a->last = s->op == &qrn_cop_transpose ? at : a->last;
        v = s->out[0];
    }
}

static bool find(const finder *f, uint32_t softmax, pattern *a) {
    const qrn_cstep *s = step(f, softmax);
    const qrn_softmax_args *args = s->args;
    *a = (pattern){.softmax = softmax,
                   .mask = QRN_VAL_NONE,
                   .scaled = s->in[0],
                   .masked = QRN_VAL_NONE,
                   .scale = 1.0,
                   .domain = s->domain};
    if ((s->domain != QRN_DOMAIN_F32 && s->domain != QRN_DOMAIN_RAW) ||
        !qrn_pass_plain(f->lo->cg, s) || args->log || args->beta != 1.0f ||
        args->axis + 1 != value(f, s->in[0])->shape.rank)
        return false;
    uint32_t keys = last_dim(f, s->in[0]);
    if (!find_scores(f, a, s->in[0], keys, MAX_WAY) || !find_product(f, a, keys))
        return false;
    find_last(f, a);
    return true;
}

// --- from dimensions to loops

// What an operand does over all rows of the scores, slowest first.
typedef struct sequence {
    uint32_t n;
    struct {
        uint32_t size, stride;
    } at[2 * QRN_MAX_ATOMS];
} sequence;

static void add(sequence *s, uint32_t size, uint32_t stride) {
    s->at[s->n].size = size;
    s->at[s->n++].stride = stride;
}

// Dimension d of a value, counted from the last one, where the scores have `size` elements.
static void add_dim(sequence *s, const qrn_strided_value *v, const qrn_part *p, uint32_t from_last,
                    uint32_t size) {
    if (from_last >= v->rank) {
        add(s, size, 0);
        return;
    }
    uint32_t d = v->rank - 1 - from_last, total = 1;
    for (uint32_t i = d ? v->end[d - 1] : 0; i < v->end[d]; i++)
        total *= p->atoms[i].size;
    if (total != size) // it repeats
        add(s, size, 0);
    for (uint32_t i = d ? v->end[d - 1] : 0; total == size && i < v->end[d]; i++)
        add(s, p->atoms[i].size, p->atoms[i].stride);
}

// The stride of a dimension that has to be one atom.
static bool single(const qrn_strided_value *v, const qrn_part *p, uint32_t from_last,
                   uint32_t *stride) {
    uint32_t d = v->rank - 1 - from_last, n = 0;
    *stride = 0;
    for (uint32_t i = d ? v->end[d - 1] : 0; i < v->end[d]; i++)
        if (p->atoms[i].size > 1 || p->atoms[i].joined) {
            *stride = p->atoms[i].stride;
            n++;
        }
    return n <= 1;
}

enum { Q, K, V, MORE_K, MORE_V, MASK, Y, N_SEQUENCES };

typedef struct loops {
    uint32_t n;
    struct {
        uint32_t size, stride[N_SEQUENCES];
    } at[2 * QRN_MAX_ATOMS]; // fastest first
} loops;

// Does the next loop only go on where the last one ends?
static bool continues(const loops *l, const sequence *s, const uint32_t *last,
                      const uint32_t *done) {
    for (int i = 0; i < N_SEQUENCES; i++)
        if (s[i].at[last[i]].stride * done[i] != l->at[l->n - 1].stride[i] * l->at[l->n - 1].size)
            return false;
    return true;
}

// The loops that all operands can be read with: what one of them cuts is cut for all.
static bool unite(sequence *s, loops *l) {
    uint32_t at[N_SEQUENCES], done[N_SEQUENCES]; // the atom, elements of it that are done
    l->n = 0;
    for (int i = 0; i < N_SEQUENCES; i++) {
        at[i] = s[i].n;
        done[i] = 1;
    }
    for (;;) {
        uint32_t size = 0, left = 0;
        for (int i = 0; i < N_SEQUENCES; i++) {
            while (at[i] > 0 && s[i].at[at[i] - 1].size == done[i]) {
                at[i]--;
                done[i] = 1;
            }
            left += at[i] > 0;
            uint32_t rest = at[i] ? s[i].at[at[i] - 1].size / done[i] : 0;
            size = rest && (!size || rest < size) ? rest : size;
        }
        if (left != 0 && left != N_SEQUENCES)
            return false;
        if (left == 0)
            return true;
        uint32_t last[N_SEQUENCES];
        for (int i = 0; i < N_SEQUENCES; i++) {
            last[i] = at[i] - 1;
            if (s[i].at[last[i]].size / done[i] % size)
                return false;
        }
        if (l->n && continues(l, s, last, done)) {
            l->at[l->n - 1].size *= size;
        } else {
            l->at[l->n].size = size;
            for (int i = 0; i < N_SEQUENCES; i++)
                l->at[l->n].stride[i] = s[i].at[last[i]].stride * done[i];
            l->n++;
        }
        for (int i = 0; i < N_SEQUENCES; i++)
            done[i] *= size;
    }
}

// --- the step

typedef struct operands {
    qrn_strided_value q, k, v, mask;
} operands;

// Loops over what shares keys, and over the others; two of each at most.
static bool set_loops(const loops *l, qrn_attention_args *a) {
    uint32_t *of[N_SEQUENCES] = {
        [Q] = a->q,           [K] = a->k,       [V] = a->v, [MORE_K] = a->more_k,
        [MORE_V] = a->more_v, [MASK] = a->mask, [Y] = a->y};
    uint32_t n_rows = 0, n_batch = 0;
    a->batch[0] = a->batch[1] = a->rows[0] = a->rows[1] = 1;
    for (uint32_t i = 0; i < l->n; i++) {
        bool shares = !l->at[i].stride[K] && !l->at[i].stride[V] && !l->at[i].stride[MORE_K] &&
                      !l->at[i].stride[MORE_V];
        uint32_t *n = shares ? &n_rows : &n_batch, where = 1 - *n;
        if (*n == 2)
            return false;
        (shares ? a->rows : a->batch)[where] = l->at[i].size;
        (*n)++;
        for (int k = 0; k < N_SEQUENCES; k++)
            if (!shares)
                of[k][QRN_ATT_BATCH0 + where] = l->at[i].stride[k];
            else if (k == Q || k == MASK || k == Y)
                of[k][QRN_ATT_ROW0 + where] = l->at[i].stride[k];
    }
    return true;
}

static uint32_t joined_dim(const qrn_strided_value *v) {
    for (uint32_t d = 0; d < v->rank; d++)
        for (uint32_t i = d ? v->end[d - 1] : 0; i < v->end[d]; i++)
            if (v->parts[0].atoms[i].joined)
                return d;
    return v->rank;
}

// Strides inside the matrices of keys or values; `keys`: where these are, from the last dimension.
static bool set_matrix(const qrn_strided_value *v, uint32_t keys, uint32_t *strides,
                       uint32_t *of_more) {
    for (uint32_t i = 0; i < v->n_parts; i++) {
        uint32_t *s = i ? of_more : strides;
        s[QRN_ATT_FIRST] = v->parts[i].first;
        if (!single(v, &v->parts[i], keys, &s[QRN_ATT_KEY]) ||
            !single(v, &v->parts[i], 1 - keys, &s[QRN_ATT_KEY_COL]))
            return false;
    }
    return v->n_parts == 1 || joined_dim(v) == v->rank - 1 - keys;
}

// Where the result goes: its last value seen from the product, whose rows come in order of their
// strides there.
static bool set_result(const finder *f, const pattern *a, sequence *y, uint32_t *col) {
    qrn_val product = step(f, a->product)->out[0], last = step(f, a->last)->out[0];
    qrn_strider w = {.lo = f->lo, .uses = f->uses};
    qrn_strided_value v =
        last == product ? qrn_strided_itself(f->lo->cg, last) : qrn_strided_of(&w, last);
    qrn_part *p = &v.parts[0];
    uint32_t stride = 1, put[QRN_MAX_ATOMS], width = last_dim(f, product);
    if (p->base != product || v.scale != 1.0)
        return false;
    for (uint32_t i = p->n; i-- > 0; stride *= p->atoms[i].size)
        put[i] = stride;
    *col = 1;
    for (uint32_t done = 0; done < p->n; done++) { // slowest first
        uint32_t most = UINT32_MAX;
        for (uint32_t i = 0; i < p->n; i++)
            if (p->atoms[i].size > 1 &&
                (most == UINT32_MAX || p->atoms[i].stride > p->atoms[most].stride))
                most = i;
        if (most == UINT32_MAX)
            break;
        bool is_col = p->atoms[most].stride < width;
        if (is_col && (p->atoms[most].stride != 1 || p->atoms[most].size != width))
            return false;
        if (is_col)
            *col = put[most];
        else
            add(y, p->atoms[most].size, put[most]);
        p->atoms[most].size = 1;
    }
    return true;
}

// What each operand does over the rows of all scores.
static bool set_sequences(const finder *f, const pattern *a, const operands *o, sequence *s,
                          qrn_attention_args *args) {
    const qrn_shape *x = &value(f, step(f, a->scores)->out[0])->shape;
    const qrn_shape *y = &value(f, step(f, a->product)->out[0])->shape;
    for (uint32_t d = x->rank - 1; d > 0; d--) { // from the first dimension to the rows
        uint32_t size = x->dims[x->rank - 1 - d];
        add_dim(&s[Q], &o->q, &o->q.parts[0], d, size);
        for (uint32_t i = 0; i < 2; i++) {
            bool there = d > 1 && i < o->k.n_parts;
            add_dim(&s[i ? MORE_K : K], &o->k, &o->k.parts[there ? i : 0], there ? d : QRN_MAX_RANK,
                    size);
        }
    }
    for (uint32_t d = y->rank - 1; d > 0; d--) {
        uint32_t size = y->dims[y->rank - 1 - d];
        for (uint32_t i = 0; i < 2; i++) {
            bool there = d > 1 && i < o->v.n_parts;
            add_dim(&s[i ? MORE_V : V], &o->v, &o->v.parts[there ? i : 0], there ? d : QRN_MAX_RANK,
                    size);
        }
    }
    const qrn_shape *m = a->mask == QRN_VAL_NONE ? x : &a->mask_shape;
    for (uint32_t d = m->rank - 1; d > 0; d--)
        add_dim(&s[MASK], &o->mask, &o->mask.parts[0], a->mask == QRN_VAL_NONE ? QRN_MAX_RANK : d,
                m->dims[m->rank - 1 - d]);
    return set_result(f, a, &s[Y], &args->y[QRN_ATT_COL]);
}

// Vectors go along columns, and from key to key where keys lie side by side.
static bool is_fast(const qrn_attention_args *a) {
    bool ok = a->y[QRN_ATT_COL] == 1 && a->v[QRN_ATT_KEY_COL] == 1 &&
              (a->k[QRN_ATT_KEY_COL] == 1 || a->k[QRN_ATT_KEY] == 1);
    return ok &&
           (!a->keys[1] || (a->more_v[QRN_ATT_KEY_COL] == 1 &&
                            (a->more_k[QRN_ATT_KEY_COL] == 1 || a->more_k[QRN_ATT_KEY] == 1)));
}

static bool make_args(const finder *f, const pattern *a, const operands *o,
                      qrn_attention_args *args) {
    sequence s[N_SEQUENCES] = {0};
    loops l;
    const qrn_cstep *scores = step(f, a->scores), *product = step(f, a->product);
    uint32_t keys = last_dim(f, scores->out[0]);
    *args =
        (qrn_attention_args){.scale = a->scale * o->q.scale * o->k.scale,
                             .depth = last_dim(f, scores->in[0]),
                             .width = last_dim(f, product->out[0]),
                             .keys = {keys, 0},
                             .rule = a->domain == QRN_DOMAIN_RAW ? QRN_FP16_OFF : f->lo->cg->half};
    if (o->q.n_parts != 1 || o->mask.n_parts != 1 || o->mask.scale != 1.0 || o->v.scale != 1.0 ||
        o->k.n_parts != o->v.n_parts || (o->k.n_parts == 2 && o->k.joined[0] != o->v.joined[0]))
        return false;
    for (uint32_t i = 0; o->k.n_parts == 2 && i < 2; i++)
        args->keys[i] = o->k.joined[i];
    bool k_turned = ((const qrn_matmul_args *)scores->args)->transpose_b;
    bool v_turned = ((const qrn_matmul_args *)product->args)->transpose_b;
    args->q[QRN_ATT_FIRST] = o->q.parts[0].first;
    args->mask[QRN_ATT_FIRST] = o->mask.parts[0].first;
    return single(&o->q, &o->q.parts[0], 0, &args->q[QRN_ATT_COL]) &&
           single(&o->mask, &o->mask.parts[0], 0, &args->mask[QRN_ATT_COL]) &&
           set_matrix(&o->k, k_turned ? 1 : 0, args->k, args->more_k) &&
           set_matrix(&o->v, v_turned ? 0 : 1, args->v, args->more_v) &&
           set_sequences(f, a, o, s, args) && unite(s, &l) && set_loops(&l, args) && is_fast(args);
}

typedef enum look { AT_CACHES, BEHIND_JOINS, BEHIND_MOVES, AT_OPERANDS, N_LOOKS } look;

static qrn_strided_value see(const finder *f, look how, qrn_val v) {
    qrn_strider w = {.lo = f->lo,
                     .uses = f->uses,
                     .through_joins = how <= BEHIND_JOINS,
                     .through_types = how == AT_CACHES};
    return how == AT_OPERANDS ? qrn_strided_itself(f->lo->cg, v) : qrn_strided_of(&w, v);
}

// Are all parts of a quantized operand in its format, one that the step knows?
static bool keeps_format(const finder *f, qrn_val v, const qrn_strided_value *seen) {
    const qrn_cvalue *x = value(f, v);
    bool same = qrn_dtype_is_fixed(x->dtype) && x->quant.kind == QRN_QUANT_TENSOR &&
                x->quant.shift == 0.0f && qrn_cvalue_elem(x) <= 2;
    for (uint32_t i = 0; seen && i < seen->n_parts && same; i++) {
        const qrn_cvalue *base = value(f, seen->parts[i].base);
        same = base->dtype == x->dtype && qrn_quant_equal(&base->quant, &x->quant);
    }
    return same;
}

static bool same_format(const finder *f, qrn_val a, qrn_val b) {
    return value(f, a)->dtype == value(f, b)->dtype &&
           qrn_quant_equal(&value(f, a)->quant, &value(f, b)->quant);
}

static bool keeps_formats(const finder *f, const pattern *a, const operands *o) {
    const qrn_cstep *scores = step(f, a->scores), *product = step(f, a->product);
    const qrn_cstep *softmax = step(f, a->softmax);
    const qrn_val between[] = {scores->out[0], a->scaled, softmax->in[0], softmax->out[0],
                               product->out[0]};
    for (uint32_t i = 0; i < sizeof between / sizeof *between; i++)
        if (!keeps_format(f, between[i], NULL))
            return false;
    bool masked = a->mask != QRN_VAL_NONE;
    return keeps_format(f, scores->in[0], &o->q) && keeps_format(f, scores->in[1], &o->k) &&
           keeps_format(f, product->in[1], &o->v) &&
           (!masked ||
            (keeps_format(f, a->mask, &o->mask) && same_format(f, a->masked, softmax->in[0]))) &&
           value(f, a->scaled)->dtype == value(f, scores->out[0])->dtype &&
           same_format(f, softmax->out[0], product->in[0]) &&
           same_format(f, product->out[0], step(f, a->last)->out[0]);
}

// The operands of the step: of what is between quantized steps the encodings count.
static void operands_of(const finder *f, const pattern *a, const operands *o, qrn_val *in,
                        qrn_val *out) {
    bool two = o->k.n_parts == 2;
    qrn_val products = step(f, a->scores)->out[0];
    const qrn_val ins[QRN_ATT_IN] = {
        [QRN_ATT_Q] = o->q.parts[0].base,
        [QRN_ATT_K] = o->k.parts[0].base,
        [QRN_ATT_V] = o->v.parts[0].base,
        [QRN_ATT_MORE_K] = two ? o->k.parts[1].base : QRN_VAL_NONE,
        [QRN_ATT_MORE_V] = two ? o->v.parts[1].base : QRN_VAL_NONE,
        [QRN_ATT_MASK] = a->mask == QRN_VAL_NONE ? QRN_VAL_NONE : o->mask.parts[0].base};
    const qrn_val outs[QRN_ATT_OUT] = {
        [QRN_ATT_Y] = step(f, a->last)->out[0],
        [QRN_ATT_PRODUCTS] = products,
        [QRN_ATT_SCALED] = same_format(f, products, a->scaled) ? QRN_VAL_NONE : a->scaled,
        [QRN_ATT_MASKED] = a->masked,
        [QRN_ATT_WEIGHTS] = step(f, a->softmax)->out[0]};
    memcpy(in, ins, sizeof ins);
    memcpy(out, outs, sizeof outs);
}

// Has the quantized step a vector row?
static bool is_fast_q(const finder *f, const pattern *a, const operands *o,
                      const qrn_attention_args *args) {
    qrn_val vals[QRN_ATT_IN + QRN_ATT_OUT];
    qrn_view views[QRN_ATT_IN + QRN_ATT_OUT], *all[QRN_ATT_IN + QRN_ATT_OUT];
    operands_of(f, a, o, vals, vals + QRN_ATT_IN);
    for (uint32_t i = 0; i < QRN_ATT_IN + QRN_ATT_OUT; i++) {
        all[i] = vals[i] == QRN_VAL_NONE ? NULL : &views[i];
        if (all[i])
            views[i] = qrn_compiled_view(f->lo->cg, vals[i]);
    }
    return qrn_attention_q_works(&(qrn_kcall){.args = args,
                                              .in = all,
                                              .out = all + QRN_ATT_IN,
                                              .n_in = QRN_ATT_IN,
                                              .n_out = QRN_ATT_OUT});
}

static bool see_all(const finder *f, const pattern *a, look how, operands *o,
                    qrn_attention_args *args) {
    const qrn_cstep *scores = step(f, a->scores), *product = step(f, a->product);
    o->q = see(f, how < BEHIND_MOVES ? BEHIND_MOVES : how, scores->in[0]);
    o->k = see(f, how, scores->in[1]);
    o->v = see(f, how, product->in[1]);
    o->mask = see(f, how < BEHIND_MOVES ? BEHIND_MOVES : how,
                  a->mask == QRN_VAL_NONE ? scores->in[0] : a->mask);
    if (a->mask == QRN_VAL_NONE)
        o->mask.scale = 1.0;
    bool few_only = how == AT_CACHES || a->domain == QRN_DOMAIN_RAW;
    return make_args(f, a, o, args) &&
           (!few_only || (uint64_t)args->rows[0] * args->rows[1] <= QRN_ATT_FEW) &&
           (a->domain == QRN_DOMAIN_F32 || (keeps_formats(f, a, o) && is_fast_q(f, a, o, args)));
}

static qrn_status fuse(const finder *f, const pattern *a, const operands *o,
                       const qrn_attention_args *args) {
    qrn_arena *arena = f->lo->cg->arena;
    qrn_cstep *s = step(f, a->last);
    void *copy = qrn_arena_copy(arena, args, sizeof *args);
    qrn_val *in = qrn_arena_alloc(arena, QRN_ATT_IN * sizeof *in);
    qrn_val *out = qrn_arena_alloc(arena, QRN_ATT_OUT * sizeof *out);
    if (!copy || !in || !out)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", f->lo->graph->name);
    operands_of(f, a, o, in, out);
    s->op = &qrn_cop_attention;
    s->domain = a->domain;
    s->args = copy;
    s->in = in;
    s->n_in = QRN_ATT_IN;
    s->out = out;
    s->n_out = a->domain == QRN_DOMAIN_RAW ? QRN_ATT_OUT : 1;
    s->node = step(f, a->product)->node;
    qrn_cstep *next = a->last + 1 < f->lo->cg->n_steps ? s + 1 : NULL;
    if (next && rounds_in_place(next, s->out[0])) // done already
        qrn_pass_drop(next);
    return QRN_OK;
}

qrn_status qrn_pass_attention(qrn_lowering *lo, const qrn_use *uses) {
    finder f = {lo, uses};
    bool any = false;
    for (uint32_t i = 0; i < lo->cg->n_steps; i++) {
        pattern a;
        operands o;
        qrn_attention_args args;
        bool ok = false;
        if (lo->cg->steps[i].op != &qrn_cop_softmax || !find(&f, i, &a))
            continue;
        for (look how = 0; how < N_LOOKS && !ok; how++)
            ok = see_all(&f, &a, how, &o, &args);
        if (ok)
            QRN_TRY(fuse(&f, &a, &o, &args));
        any |= ok;
    }
    // At once: other passes must not lay values into the memory of one that nobody reads.
    return any ? qrn_pass_dead(lo, uses) : QRN_OK;
}
