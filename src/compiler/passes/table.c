// SPDX-License-Identifier: MIT
//
// Pass "table": an element-wise step on quantized values whose operands all are functions of one
// and the same one (x * sigmoid(x), a table behind a table, a change of encoding) becomes one
// look-up in a table of all results. The step's own kernel fills the table, so results stay what
// they were.
#include "compiler/passes.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "kernels/convert.h"
#include "kernels/eltwise/binary.h"
#include "kernels/eltwise/lut.h"

#define MAX_INPUTS 2

// A value as a function of another one's quantized values.
typedef struct function {
    qrn_val of;    // QRN_VAL_NONE: of its own
    qrn_val table; // a constant with a result for each of them
} function;

static uint32_t table_size(const qrn_cvalue *v) {
    size_t n = 0;
    qrn_shape_count(&v->shape, &n);
    return qrn_lut_size(v->dtype, n);
}

static bool one_encoding(const qrn_cvalue *v) { return v->quant.kind == QRN_QUANT_TENSOR; }

// Inputs that the step computes with; 0: no step for a table.
static uint32_t operands(const qrn_lowering *lo, const qrn_cstep *s) {
    const qrn_cvalue *y = s->n_out == 1 ? &lo->cg->values[s->out[0]] : NULL;
    if (!y || !qrn_pass_plain(lo->cg, s) || s->domain != QRN_DOMAIN_RAW ||
        !qrn_dtype_is_fixed(y->dtype) || !one_encoding(y) || qrn_cvalue_elem(y) > 2)
        return 0;
    if (s->op == &qrn_cop_lut || s->op == &qrn_cop_convert)
        return 1;
    return s->op == &qrn_cop_binary ? 2 : 0;
}

// The value that all operands are functions of.
static qrn_val root_of(const qrn_compiled *p, const qrn_cstep *s, uint32_t n_in,
                       const function *fns, const qrn_use *uses) {
    qrn_val root = QRN_VAL_NONE;
    for (uint32_t i = 0; i < n_in; i++) {
        qrn_val of = fns[s->in[i]].of == QRN_VAL_NONE ? s->in[i] : fns[s->in[i]].of;
        if (p->values[s->in[i]].kind == QRN_CV_CONST || (i && of != root))
            return QRN_VAL_NONE;
        root = of;
    }
    const qrn_cvalue *x = &p->values[root], *y = &p->values[s->out[0]];
    bool fits = table_size(x) && one_encoding(x) && uses[root].n_writes <= 1 &&
                x->size_bytes / qrn_cvalue_elem(x) == y->size_bytes / qrn_cvalue_elem(y);
    return fits ? root : QRN_VAL_NONE;
}

static void fill_all(const qrn_cvalue *x, uint32_t n, void *quantized) {
    for (uint32_t i = 0; i < n; i++)
        if (qrn_cvalue_elem(x) == 1)
            ((uint8_t *)quantized)[i] = (uint8_t)i;
        else
            ((uint16_t *)quantized)[i] = (uint16_t)i;
}

// Runs the step on all values that the root's type can hold.
static qrn_status fill(const qrn_lowering *lo, const qrn_cstep *s, uint32_t n_in, qrn_val root,
                       const function *fns, void *quantized, void *table) {
    const qrn_compiled *p = lo->cg;
    uint32_t n = table_size(&p->values[root]);
    qrn_view in[MAX_INPUTS], out = qrn_compiled_view(p, s->out[0]);
    qrn_view *ins[MAX_INPUTS], *outs[1] = {&out};
    fill_all(&p->values[root], n, quantized);
    for (uint32_t i = 0; i < s->n_in; i++) {
        ins[i] = &in[i];
        in[i] = qrn_compiled_view(p, s->in[i]);
        if (i >= n_in) // the table of a look-up
            continue;
        bool is_root = s->in[i] == root;
        in[i].data = is_root ? quantized : qrn_compiled_view(p, fns[s->in[i]].table).data;
        in[i].rank = 1;
        in[i].dims[0] = n;
    }
    out.data = table;
    out.rank = 1;
    out.dims[0] = n;
    qrn_kcall k = {
        .args = s->args, .in = ins, .out = outs, .n_in = s->n_in, .n_out = 1, .n_tasks = 1};
    const qrn_kernel *kernel = qrn_kernel_select(s->op->family, s->domain, &k, qrn_cpu_isa());
    return kernel ? kernel->fn(&k) : QRN_E_UNSUPPORTED;
}

// Makes the step a look-up in a table of its results.
static qrn_status replace(qrn_lowering *lo, uint32_t at, uint32_t n_in, qrn_val root,
                          const function *fns, void *quantized, qrn_val *table) {
    qrn_compiled *p = lo->cg;
    const qrn_cvalue *y = &p->values[p->steps[at].out[0]];
    qrn_dtype dtype = y->dtype;
    qrn_quant quant = y->quant; // values may move
    qrn_shape shape = {.rank = 1, .dims = {table_size(&p->values[root])}};
    void *data;
    QRN_TRY(qrn_lo_const(lo, dtype, &shape, &quant, table, &data));
    qrn_cstep *s = &p->steps[at];
    QRN_TRY(fill(lo, s, n_in, root, fns, quantized, data));
    uint32_t *in = qrn_arena_alloc(p->arena, 2 * sizeof *in);
    if (!in)
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    in[0] = root;
    in[1] = *table;
    s->op = &qrn_cop_lut;
    s->args = NULL;
    s->in = in;
    s->n_in = 2;
    return QRN_OK;
}

static qrn_status visit(qrn_lowering *lo, uint32_t at, function *fns, const qrn_use *uses,
                        void *quantized) {
    const qrn_compiled *p = lo->cg;
    const qrn_cstep *s = &p->steps[at];
    uint32_t n_in = operands(lo, s);
    qrn_val root = n_in ? root_of(p, s, n_in, fns, uses) : QRN_VAL_NONE, y = s->out[0];
    if (root == QRN_VAL_NONE || uses[y].n_writes != 1)
        return QRN_OK;
    function f = {root, QRN_VAL_NONE};
    if (s->op == &qrn_cop_lut && s->in[0] == root)
        f.table = s->in[1];
    else if (s->op == &qrn_cop_convert && s->in[0] == root && qrn_cvalue_elem(&p->values[root]) > 1)
        return QRN_OK; // arithmetic is as fast as a large table
    else
        QRN_TRY(replace(lo, at, n_in, root, fns, quantized, &f.table));
    fns[y] = f;
    return QRN_OK;
}

qrn_status qrn_pass_table(qrn_lowering *lo, const qrn_use *uses) {
    qrn_compiled *p = lo->cg;
    uint32_t n = p->n_values;
    function *fns = qrn_alloc((n + 1) * sizeof *fns);
    uint16_t *quantized = qrn_alloc(65536 * sizeof *quantized);
    qrn_status s = QRN_OK;
    if (!fns || !quantized)
        s = QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", lo->graph->name);
    for (uint32_t i = 0; fns && i < n; i++)
        fns[i] = (function){QRN_VAL_NONE, QRN_VAL_NONE};
    for (uint32_t i = 0; i < p->n_steps && s == QRN_OK; i++)
        s = visit(lo, i, fns, uses, quantized);
    qrn_free(fns);
    qrn_free(quantized);
    return s;
}
