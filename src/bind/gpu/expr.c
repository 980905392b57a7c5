// SPDX-License-Identifier: MIT
//
// Element-wise steps as an expression in OpenCL C: a function epi(v, i), one line a step. Operands
// that the steps do not make themselves are loaded, each once.
#include "bind/gpu/binder.h"
#include "bind/gpu/formulas.h"
#include "bind/gpu/half.h"

#include "base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct load {
    qrn_val v;
    uint32_t count;  // elements of the output that it was loaded for
    qrn_shape shape; // of that output
    char name[8];    // operand
    char index[48];  // which element
} load;

#define LOADS (QRN_GPU_MAX_LOADS + 4) // operands, and tables of scales

typedef struct expr {
    qrn_gpu_kernel *k;
    const qrn_gpu_group *g;
    qrn_gpu_text body, params, begin, pass;
    load loads[LOADS];
    uint32_t n_loads;
    bool failed;                                     // more loads than there is room for
    bool half;                                       // some numbers are HALF
    int32_t numbers[LOADS * (2 * QRN_MAX_RANK + 1)]; // parameters of indices
    uint32_t n_numbers;
    char head[16]; // name of the value that the kernel passes; "": the head is in the expression
} expr;

// --- types

// Integers have their own width between steps, too: each result keeps its low bits.
static const char *number_type(qrn_dtype t) {
    if (qrn_dtype_is_float(t))
        return t == QRN_DTYPE_F64 ? "double" : "float";
    return qrn_gpu_type_name(t);
}

// The same of value v between the steps of the expression.
static const char *variable_type(expr *e, qrn_val v) {
    const qrn_gpu_binder *b = e->k->b;
    if (!qrn_dtype_is_float(qrn_gpu_value(b, v)->dtype) || !qrn_gpu_is_half(b, v))
        return number_type(qrn_gpu_value(b, v)->dtype);
    e->half = true;
    return "HALF";
}

// The type that a step on floats or integers computes in.
static const char *operation_type(const expr *e, const qrn_cstep *s) {
    return s->domain != QRN_DOMAIN_F32         ? "long"
           : qrn_gpu_computes_half(e->k->b, s) ? "HALF"
                                               : "float";
}

static bool is_plain(const qrn_cvalue *v) {
    return v->n_sparse == 0 && v->quant.kind <= QRN_QUANT_TENSOR && v->dtype != QRN_DTYPE_F64 &&
           v->dtype != QRN_DTYPE_BF16 && v->dtype != QRN_DTYPE_STR &&
           qrn_dtypes[v->dtype].bits >= 8;
}

// Quantized values that an expression can read: those of 4 bits, and with scales along an axis.
static bool is_readable(const qrn_cvalue *v) {
    return v->n_sparse == 0 && qrn_dtype_is_fixed(v->dtype) && v->quant.kind <= QRN_QUANT_AXIS;
}

bool qrn_gpu_is_element_wise(const qrn_gpu_binder *b, const qrn_cstep *s) {
    static const qrn_cop *const ops[] = {&qrn_cop_unary,      &qrn_cop_binary,  &qrn_cop_compare,
                                         &qrn_cop_logical,    &qrn_cop_select,  &qrn_cop_mux,
                                         &qrn_cop_lut,        &qrn_cop_convert, &qrn_cop_cast,
                                         &qrn_cop_float_test, &qrn_cop_affine};
    bool known = false;
    for (size_t i = 0; i < sizeof ops / sizeof ops[0]; i++)
        known |= s->op == ops[i];
    if (!known || s->kind != QRN_CSTEP_OP || s->n_out != 1 || s->domain == QRN_DOMAIN_F64)
        return false;
    for (uint32_t i = 0; i < s->n_in; i++)
        if (s->in[i] != QRN_VAL_NONE && !is_plain(qrn_gpu_value(b, s->in[i])) &&
            !(s->op == &qrn_cop_convert && is_readable(qrn_gpu_value(b, s->in[i]))))
            return false;
    // Quantized values of 16 bits are rounded in double: host steps make them.
    const qrn_cvalue *y = qrn_gpu_value(b, s->out[0]);
    if (qrn_dtype_is_fixed(y->dtype) && qrn_dtypes[y->dtype].bits > 8)
        return false;
    return s->n_in <= QRN_GPU_MAX_LOADS && is_plain(y);
}

// --- operands

static size_t count_of(const qrn_shape *s) {
    size_t n = 1;
    for (uint32_t i = 0; i < s->rank; i++)
        n *= s->dims[i];
    return n;
}

uint32_t qrn_gpu_broadcast(const qrn_shape *v, const qrn_shape *out, int32_t *params) {
    uint32_t n = 0;
    int32_t stride = 1;
    for (uint32_t d = 0; d < out->rank; d++) {
        uint32_t size = out->dims[out->rank - 1 - d];
        uint32_t own = d < v->rank ? v->dims[v->rank - 1 - d] : 1;
        params[1 + 2 * n] = (int32_t)size;
        params[2 + 2 * n] = own == 1 ? 0 : stride;
        n += size != 1;
        stride *= (int32_t)own;
    }
    params[0] = (int32_t)n;
    return 1 + 2 * n;
}

// Does v repeat as it is: is its shape the end of the output's?
static bool repeats(const qrn_shape *v, const qrn_shape *out) {
    uint32_t skip = 0;
    while (skip < v->rank && v->dims[skip] == 1)
        skip++;
    if (v->rank - skip > out->rank)
        return false;
    for (uint32_t d = 0; d < v->rank - skip; d++)
        if (v->dims[v->rank - 1 - d] != out->dims[out->rank - 1 - d])
            return false;
    return true;
}

static void choose_index(expr *e, load *l, const qrn_shape *v) {
    size_t n = count_of(v);
    if (n == l->count)
        snprintf(l->index, sizeof l->index, "i");
    else if (n == 1)
        snprintf(l->index, sizeof l->index, "0");
    else if (repeats(v, &l->shape)) {
        snprintf(l->index, sizeof l->index, "i %% EP[%u]", e->n_numbers);
        e->numbers[e->n_numbers++] = (int32_t)n;
    } else {
        snprintf(l->index, sizeof l->index, "at(i, EP + %u)", e->n_numbers);
        e->n_numbers += qrn_gpu_broadcast(v, &l->shape, e->numbers + e->n_numbers);
    }
}

// The operand that value v of shape `own` becomes for results of shape `out`.
static const load *load_of(expr *e, qrn_val v, const qrn_shape *own, const qrn_shape *out) {
    for (uint32_t i = 0; i < e->n_loads; i++)
        if (e->loads[i].v == v && memcmp(&e->loads[i].shape, out, sizeof *out) == 0)
            return &e->loads[i];
    if (e->n_loads == LOADS) {
        e->failed = true;
        return &e->loads[0];
    }
    load *l = &e->loads[e->n_loads];
    *l = (load){.v = v, .count = (uint32_t)count_of(out), .shape = *out};
    snprintf(l->name, sizeof l->name, "E%u", e->n_loads++);
    choose_index(e, l, own);
    return l;
}

static uint32_t maker(const expr *e, uint32_t at, qrn_val v) {
    const qrn_compiled *cg = e->k->b->cg;
    for (uint32_t i = at; i > 0; i--)
        if (qrn_compiled_owner(cg, cg->steps[e->g->steps[i - 1]].out[0]) ==
            qrn_compiled_owner(cg, v))
            return i - 1;
    return UINT32_MAX;
}

// Operand k of step `at` of the group, as a variable or a load.
static void operand(expr *e, uint32_t at, uint32_t k, char *dst, size_t size) {
    const qrn_compiled *cg = e->k->b->cg;
    const qrn_cstep *s = &cg->steps[e->g->steps[at]];
    uint32_t from = maker(e, at, s->in[k]);
    if (from != UINT32_MAX) {
        snprintf(dst, size, "t%u", from);
        return;
    }
    const load *l = load_of(e, s->in[k], &cg->values[s->in[k]].shape, &cg->values[s->out[0]].shape);
    snprintf(dst, size, "LD_%s(%s)", l->name, l->index);
}

// --- steps

static void float_text(char *dst, size_t size, float x) {
    if (isnan(x) || isinf(x))
        snprintf(dst, size, "%s", isnan(x) ? "NAN" : x > 0 ? "INFINITY" : "(-INFINITY)");
    else
        snprintf(dst, size, "%af", (double)x);
}

// float x = ..., alpha = ...; then the formula.
static bool emit_unary(expr *e, uint32_t at, const qrn_cstep *s, const char *x, const char *y) {
    const qrn_unary_args *a = s->args;
    bool floats = s->domain == QRN_DOMAIN_F32;
    const char *formula = qrn_gpu_unary_formula(a, floats);
    if (!formula || (y[0] && a->op != QRN_UNARY_LOGIT))
        return false;
    char text[5][40];
    const float values[] = {a->alpha, a->beta, a->low, a->high, a->threshold};
    static const char *const names[] = {"alpha", "beta", "low", "high", "threshold"};
    qrn_gpu_print(&e->body, "    { %s x = %s;", operation_type(e, s), x);
    for (int i = 0; i < 5; i++) {
        float_text(text[i], sizeof text[i], values[i]);
        if (strstr(formula, names[i]))
            qrn_gpu_print(&e->body, " const float %s = %s;", names[i], text[i]);
    }
    if (a->op == QRN_UNARY_LOGIT)
        qrn_gpu_print(&e->body, " const float y = %s;", y[0] ? y : "-1.0f");
    qrn_gpu_print(&e->body, " t%u = %s; }\n", at, formula);
    return true;
}

static bool emit_binary(expr *e, uint32_t at, const qrn_cstep *s, const char *x, const char *y) {
    uint32_t op = ((const qrn_binary_args *)s->args)->op;
    bool raw = s->domain == QRN_DOMAIN_RAW, floats = s->domain == QRN_DOMAIN_F32;
    const char *formula = qrn_gpu_binary_formula(op, floats), *type = operation_type(e, s);
    if (!formula || (raw && s->op != &qrn_cop_logical))
        return false;
    qrn_gpu_print(&e->body, "    { %s x = %s; ", type, x);
    if (y[0])
        qrn_gpu_print(&e->body, "%s y = %s; ", type, y);
    qrn_gpu_print(&e->body, "t%u = %s%s%s; }\n", at, op > QRN_BINARY_PRELU ? "(" : "", formula,
                  op > QRN_BINARY_PRELU ? ") ? 1 : 0" : "");
    return true;
}

// Limits of an integer type, as text.
static void limits_of(const qrn_cvalue *v, char *low, char *high, size_t size) {
    int64_t lo = INT64_MIN, hi = INT64_MAX;
    uint32_t bits = qrn_dtypes[v->dtype].bits;
    bool is_signed = qrn_dtypes[v->dtype].cls == QRN_CLASS_SINT;
    if (qrn_dtype_is_fixed(v->dtype))
        qrn_quant_range(v->dtype, v->quant.bits, &lo, &hi);
    else if (bits < 64) {
        lo = is_signed ? -((int64_t)1 << (bits - 1)) : 0;
        hi = is_signed ? ((int64_t)1 << (bits - 1)) - 1 : ((int64_t)1 << bits) - 1;
    } else if (!is_signed) {
        lo = 0;
    }
    if (lo == INT64_MIN)
        snprintf(low, size, "(-0x7fffffffffffffffl - 1l)");
    else
        snprintf(low, size, "%lldl", (long long)lo);
    snprintf(high, size, "%lldl", (long long)hi);
}

// A table of scales or offsets along the axis of in[0] as an operand.
static bool table_of(expr *e, const qrn_cstep *s, qrn_dtype type, const void *data, char *text,
                     size_t size) {
    const qrn_cvalue *from = qrn_gpu_value(e->k->b, s->in[0]);
    qrn_shape own = from->shape;
    qrn_val v;
    void *bytes;
    for (uint32_t d = 0; d < own.rank; d++)
        own.dims[d] = d == from->quant.axis ? from->quant.n_groups : 1;
    if (qrn_gpu_make_const(e->k->b, type, from->quant.n_groups, &v, &bytes) != QRN_OK)
        return false;
    memcpy(bytes, data, from->quant.n_groups * 4u);
    const load *l = load_of(e, v, &own, &qrn_gpu_value(e->k->b, s->out[0])->shape);
    snprintf(text, size, "LD_%s(%s)", l->name, l->index);
    return true;
}

static bool table(expr *e, const qrn_cstep *s, char *scale, char *offset, size_t size) {
    const qrn_quant *q = &qrn_gpu_value(e->k->b, s->in[0])->quant;
    return table_of(e, s, QRN_DTYPE_F32, q->scales, scale, size) &&
           (!q->offsets || table_of(e, s, QRN_DTYPE_I32, q->offsets, offset, size));
}

// float x: what a quantized value means.
static bool emit_real(expr *e, const qrn_cstep *s, const char *x) {
    const qrn_cvalue *from = qrn_gpu_value(e->k->b, s->in[0]);
    const qrn_quant *q = &from->quant;
    char scale[96], offset[96] = "0l", shift[40];
    if (q->kind == QRN_QUANT_TENSOR) {
        float_text(scale, sizeof scale, q->scale);
        snprintf(offset, sizeof offset, "%dl", q->offset);
    } else if (q->kind != QRN_QUANT_AXIS || !table(e, s, scale, offset, sizeof scale)) {
        return false;
    }
    float_text(shift, sizeof shift, q->shift);
    uint32_t lost = 64u - q->bits; // bits of the container that do not count
    if (q->bits && q->bits < qrn_dtypes[from->dtype].bits)
        qrn_gpu_print(&e->body, "long q = (long)((%s)(%s) << %u) >> %u; ",
                      qrn_dtypes[from->dtype].cls == QRN_CLASS_SFIXED ? "long" : "ulong", x, lost,
                      lost);
    else
        qrn_gpu_print(&e->body, "long q = %s; ", x);
    qrn_gpu_print(&e->body, "float x = ((float)(q + %s) + %s) * %s; ", offset, shift, scale);
    return true;
}

// A number of one format in another one, as convert.h defines it; cast: encodings are ignored.
static bool emit_convert(expr *e, uint32_t at, const qrn_cstep *s, const char *x) {
    const qrn_cvalue *from = qrn_gpu_value(e->k->b, s->in[0]),
                     *to = qrn_gpu_value(e->k->b, s->out[0]);
    bool cast = s->op == &qrn_cop_cast;
    bool fixed_in = !cast && qrn_dtype_is_fixed(from->dtype);
    bool fixed_out = !cast && qrn_dtype_is_fixed(to->dtype);
    char low[40], high[40], scale[40];
    limits_of(to, low, high, sizeof low);
    if (to->quant.bits && to->quant.bits < qrn_dtypes[to->dtype].bits)
        return false;
    qrn_gpu_print(&e->body, "    { ");
    if (fixed_in) {
        if (!emit_real(e, s, x))
            return false;
    } else {
        qrn_gpu_print(&e->body, "%s x = %s; ", number_type(from->dtype), x);
    }
    bool real = fixed_in || qrn_dtype_is_float(from->dtype);
    if (fixed_out) {
        if (to->quant.kind != QRN_QUANT_TENSOR || to->quant.shift != 0.0f)
            return false;
        float_text(scale, sizeof scale, to->quant.scale);
        qrn_gpu_print(&e->body,
                      "t%u = clamp(q_to_long(floor((float)x / %s + 0.5f), "
                      "-0x40000000l, 0x40000000l) - %dl, %s, %s); }\n",
                      at, scale, to->quant.offset, low, high);
    } else if (qrn_dtype_is_float(to->dtype)) {
        qrn_gpu_print(&e->body, "t%u = (float)x; }\n", at);
    } else if (to->dtype == QRN_DTYPE_B8) {
        qrn_gpu_print(&e->body, "t%u = x != 0; }\n", at);
    } else if (real) {
        qrn_gpu_print(&e->body, "t%u = q_to_long(x, %s, %s); }\n", at, low, high);
    } else {
        qrn_gpu_print(&e->body, "t%u = x; }\n", at); // the store keeps the low bits
    }
    return true;
}

static bool emit_test(expr *e, uint32_t at, const qrn_cstep *s, const char *x) {
    const qrn_float_test_args *a = s->args;
    qrn_gpu_print(&e->body,
                  "    { float x = %s; t%u = (%d && isnan(x)) || (%d && x == INFINITY) || "
                  "(%d && x == -INFINITY); }\n",
                  x, at, a->nan, a->plus_inf, a->minus_inf);
    return true;
}

// The index counts the options; outside of them the result is 0.
static bool emit_mux(expr *e, uint32_t at, const qrn_cstep *s) {
    char text[80];
    operand(e, at, 0, text, sizeof text);
    qrn_gpu_print(&e->body, "    { long k = (long)(%s); t%u = 0;", text, at);
    for (uint32_t i = 1; i < s->n_in; i++) {
        operand(e, at, i, text, sizeof text);
        qrn_gpu_print(&e->body, " if (k == %u) t%u = %s;", i - 1, at, text);
    }
    qrn_gpu_print(&e->body, " }\n");
    return true;
}

// The element as an unsigned number is the place in the table.
static bool emit_lut(expr *e, uint32_t at, const qrn_cstep *s, const char *x) {
    const qrn_gpu_binder *b = e->k->b;
    const load *l = load_of(e, s->in[1], &qrn_gpu_value(b, s->in[1])->shape,
                            &qrn_gpu_value(b, s->out[0])->shape);
    qrn_gpu_print(&e->body, "    t%u = LD_%s((int)(%s)(%s));\n", at, l->name,
                  qrn_dtypes[qrn_gpu_value(b, s->in[0])->dtype].bits == 8 ? "uchar" : "ushort", x);
    return true;
}

static bool emit_step(expr *e, uint32_t at) {
    const qrn_cstep *s = &e->k->b->cg->steps[e->g->steps[at]];
    char in[3][80] = {"", "", ""};
    if (s->op == &qrn_cop_mux)
        return emit_mux(e, at, s);
    if (s->op == &qrn_cop_lut) {
        operand(e, at, 0, in[0], sizeof in[0]);
        return emit_lut(e, at, s, in[0]);
    }
    for (uint32_t i = 0; i < s->n_in && i < 3; i++)
        if (s->in[i] != QRN_VAL_NONE)
            operand(e, at, i, in[i], sizeof in[i]);
    if (s->op == &qrn_cop_unary)
        return emit_unary(e, at, s, in[0], in[1]);
    if (s->op == &qrn_cop_binary || s->op == &qrn_cop_compare || s->op == &qrn_cop_logical)
        return emit_binary(e, at, s, in[0], in[1]);
    if (s->op == &qrn_cop_select) {
        qrn_gpu_print(&e->body, "    t%u = (%s) != 0 ? %s : %s;\n", at, in[0], in[1], in[2]);
        return true;
    }
    if (s->op == &qrn_cop_affine) {
        qrn_gpu_print(&e->body, "    t%u = %s * %s + %s;\n", at, in[0], in[1],
                      in[2][0] ? in[2] : "0.0f");
        return true;
    }
    if (s->op == &qrn_cop_float_test)
        return emit_test(e, at, s, in[0]);
    return emit_convert(e, at, s, in[0]);
}

static void declare(expr *e, bool whole) {
    const qrn_compiled *cg = e->k->b->cg;
    for (uint32_t i = 0; i < e->g->n; i++) {
        qrn_val v = cg->steps[e->g->steps[i]].out[0];
        if (i > 0 || whole)
            qrn_gpu_print(&e->body, "    %s t%u;\n", variable_type(e, v), i);
        else
            qrn_gpu_print(&e->body, "    %s t0 = v;\n", variable_type(e, v));
    }
}

static void add_operands(expr *e) {
    for (uint32_t i = 0; i < e->n_loads; i++) {
        const char *n = e->loads[i].name;
        qrn_gpu_in(e->k, n, e->loads[i].v);
        qrn_gpu_print(&e->params, ", %s_ARG", n);
        qrn_gpu_print(&e->begin, "%s_BEGIN ", n);
        qrn_gpu_print(&e->pass, ", %s", n);
    }
    if (e->n_numbers) {
        qrn_gpu_params(e->k, "EP", e->numbers, e->n_numbers);
        qrn_gpu_print(&e->params, ", EP_ARG");
        qrn_gpu_print(&e->begin, "EP_BEGIN");
        qrn_gpu_print(&e->pass, ", EP");
    }
}

static const char *text_of(const qrn_gpu_text *t) { return t->data ? t->data : ""; }

static void define_function(expr *e, bool whole) {
    const qrn_compiled *cg = e->k->b->cg;
    const qrn_cvalue *head = &cg->values[cg->steps[e->g->steps[0]].out[0]];
    const qrn_cvalue *last = &cg->values[cg->steps[e->g->steps[e->g->n - 1]].out[0]];
    qrn_gpu_text *t = &e->k->defines;
    if (e->half)
        qrn_gpu_print(t, QRN_GPU_HALF);
    qrn_gpu_print(t, "#define EPI_ARGS %s\n#define EPI_BEGIN %s\n", text_of(&e->params),
                  text_of(&e->begin));
    qrn_gpu_print(t, "#define EPI(v, i) epi((v), (i)%s)\n#define EPI_FUNCTION \\\n",
                  text_of(&e->pass));
    qrn_gpu_print(t, "inline %s epi(%s v, int i", number_type(last->dtype),
                  whole ? "int" : number_type(head->dtype));
    for (uint32_t i = 0; i < e->n_loads; i++)
        qrn_gpu_print(t, ", __global const E%u_T *E%u", i, i);
    qrn_gpu_print(t, "%s) { \\\n", e->n_numbers ? ", __global const int *EP" : "");
    for (const char *p = text_of(&e->body); *p; p += *p == '\n') { // lines of a macro
        size_t n = strcspn(p, "\n");
        qrn_gpu_print(t, "%.*s \\\n", (int)n, p);
        p += n;
    }
    qrn_gpu_print(t, "    return t%u; \\\n}\n", e->g->n - 1);
}

void qrn_gpu_expression(qrn_gpu_kernel *k, const qrn_gpu_group *g, bool whole) {
    if (g->n == 1 && !whole) {
        qrn_gpu_print(&k->defines, "#define EPI_ARGS\n#define EPI_BEGIN\n#define EPI(v, i) (v)\n"
                                   "#define EPI_FUNCTION\n");
        return;
    }
    expr e = {.k = k, .g = g};
    bool ok = true;
    declare(&e, whole);
    uint32_t at = whole ? 0 : 1;
    for (; at < g->n && ok; at++)
        ok = emit_step(&e, at) && !e.failed;
    if (!ok && k->status == QRN_OK)
        k->status = qrn_gpu_reject(k->b, &k->b->cg->steps[g->steps[at - 1]],
                                   "no kernel has this form of an element-wise op");
    add_operands(&e);
    define_function(&e, whole);
    k->defines.failed |= e.body.failed || e.params.failed || e.begin.failed || e.pass.failed;
    qrn_gpu_text *texts[] = {&e.body, &e.params, &e.begin, &e.pass};
    for (int i = 0; i < 4; i++)
        qrn_free(texts[i]->data);
}
