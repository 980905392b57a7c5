// SPDX-License-Identifier: MIT
//
// Putting kernels together: the definitions of operands, arguments, launches.
#include "bind/gpu/binder.h"

#include "base/mem.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static bool reserve(qrn_gpu_text *t, size_t more) {
    if (t->failed || t->n + more + 1 <= t->cap)
        return !t->failed;
    size_t cap = t->cap ? 2 * t->cap : 4096;
    while (cap < t->n + more + 1)
        cap *= 2;
    char *data = qrn_realloc(t->data, t->n, cap);
    t->failed = !data;
    if (data) {
        t->data = data;
        t->cap = cap;
    }
    return data != NULL;
}

static void print_list(qrn_gpu_text *t, const char *format, va_list list) {
    va_list again;
    va_copy(again, list);
    int n = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (n < 0 || !reserve(t, (size_t)n))
        return;
    vsnprintf(t->data + t->n, (size_t)n + 1, format, list);
    t->n += (size_t)n;
}

void qrn_gpu_print(qrn_gpu_text *t, const char *format, ...) {
    va_list list;
    va_start(list, format);
    print_list(t, format, list);
    va_end(list);
}

qrn_gpu_kernel qrn_gpu_kernel_begin(qrn_gpu_binder *b, const char *source, const char *entry) {
    qrn_gpu_kernel k = {.b = b, .source = source, .entry = entry, .status = QRN_OK};
    qrn_gpu_print(&k.defines, "#define KERNEL_%s\n", entry);
    return k;
}

static void fail(qrn_gpu_kernel *k, qrn_status s) {
    if (k->status == QRN_OK)
        k->status = s;
}

static qrn_gpu_arg *new_arg(qrn_gpu_kernel *k, qrn_gpu_arg_kind kind) {
    static _Thread_local qrn_gpu_arg spare;
    if (k->n_args == QRN_GPU_MAX_ARGS) {
        fail(k, QRN_FAIL(QRN_E_GENERAL, "kernel %s has too many arguments", k->entry));
        return &spare;
    }
    qrn_gpu_arg *a = &k->args[k->n_args++];
    *a = (qrn_gpu_arg){.kind = (uint8_t)kind};
    return a;
}

const char *qrn_gpu_type_name(qrn_dtype t) {
    static const char *const names[QRN_DTYPE_COUNT] = {
        [QRN_DTYPE_F32] = "float",   [QRN_DTYPE_F16] = "half",  [QRN_DTYPE_F64] = "double",
        [QRN_DTYPE_I8] = "char",     [QRN_DTYPE_I16] = "short", [QRN_DTYPE_I32] = "int",
        [QRN_DTYPE_I64] = "long",    [QRN_DTYPE_U8] = "uchar",  [QRN_DTYPE_U16] = "ushort",
        [QRN_DTYPE_U32] = "uint",    [QRN_DTYPE_U64] = "ulong", [QRN_DTYPE_SQ8] = "char",
        [QRN_DTYPE_SQ16] = "short",  [QRN_DTYPE_SQ32] = "int",  [QRN_DTYPE_UQ8] = "uchar",
        [QRN_DTYPE_UQ16] = "ushort", [QRN_DTYPE_UQ32] = "uint", [QRN_DTYPE_B8] = "uchar",
        [QRN_DTYPE_SQ4] = "char",    [QRN_DTYPE_UQ4] = "uchar"};
    return names[t] ? names[t] : "uchar";
}

// --- operands

#define POOLED_BYTES 65536 // constants up to this size lie in the plan's buffer

static bool is_pooled(const qrn_gpu_binder *b, qrn_val v) {
    const qrn_gpu_place *at = &b->plan->places[v];
    qrn_val owner = v < b->cg->n_values ? qrn_compiled_owner(b->cg, v) : v;
    if (at->space != QRN_GPU_CONST)
        return at->space == QRN_GPU_ARENA;
    return at->index != UINT32_MAX ? b->plan->constants[at->index].bytes <= POOLED_BYTES
                                   : qrn_gpu_value(b, owner)->size_bytes <= POOLED_BYTES;
}

// NAME_ARG of an operand in the plan's buffer; the first one brings that.
static void declare_pooled(qrn_gpu_kernel *k, const char *n) {
    qrn_gpu_print(&k->defines, "#define %s_ARG %sconst ulong %s_o", n,
                  k->has_pool ? "" : "__global uchar *q_pool, ", n);
    if (!k->has_pool)
        new_arg(k, QRN_GPU_ARG_POOL);
    k->has_pool = true;
}

// NAME_ARG and NAME_BEGIN, and its argument. `more` parameters follow the first.
static void declare(qrn_gpu_kernel *k, const char *n, qrn_val v, const char *constant,
                    const char *more) {
    qrn_gpu_text *t = &k->defines;
    bool pooled = v != QRN_VAL_NONE && is_pooled(k->b, v);
    if (pooled)
        declare_pooled(k, n);
    else if (v == QRN_VAL_NONE)
        qrn_gpu_print(t, "#define %s_ARG const int %s_o", n, n);
    else
        qrn_gpu_print(t, "#define %s_ARG __global %s%s_T *%s_p, const ulong %s_o", n, constant, n,
                      n, n);
    qrn_gpu_print(t, "%s\n#define %s_BEGIN __global %s%s_T *%s = ", more, n, constant, n, n);
    if (pooled)
        qrn_gpu_print(t, "(__global %s%s_T *)q_pool + %s_o;\n", constant, n, n);
    else if (v == QRN_VAL_NONE)
        qrn_gpu_print(t, "0;\n");
    else
        qrn_gpu_print(t, "%s_p + %s_o;\n", n, n);
    new_arg(k, v == QRN_VAL_NONE ? QRN_GPU_ARG_INT
               : pooled          ? QRN_GPU_ARG_POOLED
                                 : QRN_GPU_ARG_VALUE)
        ->item = v;
}

static void define_operand(qrn_gpu_kernel *k, const char *n, qrn_val v) {
    qrn_gpu_text *t = &k->defines;
    qrn_dtype type = v == QRN_VAL_NONE ? QRN_DTYPE_F32 : k->b->plan->places[v].type;
    qrn_gpu_print(t, "#define HAS_%s %d\n#define %s_T %s\n", n, v != QRN_VAL_NONE, n,
                  qrn_gpu_type_name(type));
    if (type == QRN_DTYPE_F16) {
        qrn_gpu_print(t, "#define LD_%s(i) vload_half((i), %s)\n", n, n);
        qrn_gpu_print(t, "#define LD4_%s(i) vload_half4(0, %s + (i))\n", n, n);
        qrn_gpu_print(t, "#define ST_%s(i, v) vstore_half_rte((v), (i), %s)\n", n, n);
        qrn_gpu_print(t, "#define ST4_%s(i, v) vstore_half4_rte((v), 0, %s + (i))\n", n, n);
    } else if (qrn_dtypes[type].bits < 8) { // two a byte, the lower bits first; never stored
        qrn_gpu_print(t, "#define LD_%s(i) %s(%s[(i) >> 1], (i))\n", n,
                      type == QRN_DTYPE_SQ4 ? "q_signed4" : "q_unsigned4", n);
    } else {
        qrn_gpu_print(t, "#define LD_%s(i) (%s[i])\n", n, n);
        qrn_gpu_print(t, "#define LD4_%s(i) vload4(0, %s + (i))\n", n, n);
        qrn_gpu_print(t, "#define ST_%s(i, v) (%s[i] = (%s_T)(v))\n", n, n, n);
        qrn_gpu_print(t, "#define ST4_%s(i, v) vstore4((v), 0, %s + (i))\n", n, n);
    }
}

// The stores of a result that lies in rows of a joined block.
static void define_joined(qrn_gpu_kernel *k, const char *n, qrn_dtype type) {
    qrn_gpu_text *t = &k->defines;
    qrn_gpu_print(t, "#undef ST_%s\n#undef ST4_%s\n", n, n);
    qrn_gpu_print(t, "#define %s_AT(i) ((i) / %s_r * %s_w + (i) %% %s_r)\n", n, n, n, n);
    if (type == QRN_DTYPE_F16)
        qrn_gpu_print(t,
                      "#define ST_%s(i, v) vstore_half_rte((v), %s_AT(i), %s)\n"
                      "#define ST4_%s(i, v) vstore_half4_rte((v), 0, %s + %s_AT(i))\n",
                      n, n, n, n, n, n);
    else
        qrn_gpu_print(t,
                      "#define ST_%s(i, v) (%s[%s_AT(i)] = (%s_T)(v))\n"
                      "#define ST4_%s(i, v) vstore4((v), 0, %s + %s_AT(i))\n",
                      n, n, n, n, n, n, n);
}

// Indices of kernels have 32 bits.
static void check_size(qrn_gpu_kernel *k, qrn_val v) {
    if (v == QRN_VAL_NONE || v >= k->b->cg->n_values)
        return;
    if (qrn_gpu_count(k->b, v) > INT32_MAX)
        fail(k, QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED,
                         "graph '%s': tensor '%s' has %zu elements, the GPU backend allows %d",
                         k->b->cg->name, qrn_gpu_value(k->b, v)->name, qrn_gpu_count(k->b, v),
                         INT32_MAX));
}

void qrn_gpu_in(qrn_gpu_kernel *k, const char *name, qrn_val v) {
    define_operand(k, name, v);
    check_size(k, v);
    declare(k, name, v, "const ", "");
}

void qrn_gpu_out(qrn_gpu_kernel *k, const char *name, qrn_val v) {
    char more[64] = "";
    bool joined = qrn_gpu_is_joined(k->b, v);
    define_operand(k, name, v);
    check_size(k, v);
    if (joined)
        snprintf(more, sizeof more, ", const int %s_r, const int %s_w", name, name);
    declare(k, name, v, "", more);
    if (joined) {
        define_joined(k, name, k->b->plan->places[v].type);
        check_size(k, k->b->joins[v].whole);
        qrn_gpu_int(k, k->b->joins[v].row);
        qrn_gpu_int(k, k->b->joins[v].pitch);
    }
}

void qrn_gpu_object_in(qrn_gpu_kernel *k, const char *name, uint32_t object, qrn_dtype type) {
    qrn_gpu_text *t = &k->defines;
    qrn_gpu_print(t, "#define %s_T %s\n#define %s_ARG __global const %s_T *%s\n", name,
                  qrn_gpu_type_name(type), name, name, name);
    qrn_gpu_print(t, "#define %s_BEGIN\n#define LD_%s(i) ", name, name);
    qrn_gpu_print(t, type == QRN_DTYPE_F16 ? "vload_half((i), %s)\n" : "(%s[i])\n", name);
    new_arg(k, QRN_GPU_ARG_OBJECT)->item = object;
}

void qrn_gpu_int(qrn_gpu_kernel *k, int64_t v) {
    if (v < INT32_MIN || v > INT32_MAX)
        fail(k, QRN_FAIL(QRN_E_TENSOR_UNSUPPORTED, "graph '%s': a size of %lld is too large",
                         k->b->cg->name, (long long)v));
    new_arg(k, QRN_GPU_ARG_INT)->i = (int32_t)v;
}

void qrn_gpu_ints(qrn_gpu_kernel *k, const int64_t *values, size_t n) {
    for (size_t i = 0; i < n; i++)
        qrn_gpu_int(k, values[i]);
}

void qrn_gpu_float(qrn_gpu_kernel *k, float v) { new_arg(k, QRN_GPU_ARG_FLOAT)->f = v; }

static bool room(void **array, uint32_t *cap, uint32_t need, size_t elem_bytes) {
    if (need <= *cap)
        return true;
    uint32_t next = *cap ? *cap : 64;
    while (next < need)
        next *= 2;
    void *p = qrn_realloc(*array, *cap * elem_bytes, next * elem_bytes);
    if (!p)
        return false;
    *array = p;
    *cap = next;
    return true;
}

// Keeps parameters of the kernel's last argument.
static void keep_params(qrn_gpu_kernel *k, const int32_t *values, uint32_t n) {
    qrn_gpu_plan *p = k->b->plan;
    if (!room((void **)&p->params, &k->b->cap_params, p->n_params + n, sizeof *p->params)) {
        fail(k, QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", k->b->cg->name));
        return;
    }
    memcpy(p->params + p->n_params, values, n * sizeof *values);
    p->n_params += n;
}

void qrn_gpu_direct_params(qrn_gpu_kernel *k, const char *name, const int32_t *values, uint32_t n) {
    qrn_gpu_print(&k->defines,
                  "typedef struct { int v[%u]; } %s_T;\n#define %s_ARG const %s_T %s_v\n"
                  "#define %s_BEGIN const int *%s = %s_v.v;\n",
                  n, name, name, name, name, name, name, name);
    qrn_gpu_arg *a = new_arg(k, QRN_GPU_ARG_DIRECT);
    a->item = n;
    a->i = (int32_t)k->b->plan->n_params;
    keep_params(k, values, n);
}

void qrn_gpu_params(qrn_gpu_kernel *k, const char *name, const int32_t *values, uint32_t n) {
    declare_pooled(k, name);
    qrn_gpu_print(&k->defines,
                  "\n#define %s_BEGIN __global const int *%s = (__global const int *)q_pool + "
                  "%s_o;\n",
                  name, name, name);
    new_arg(k, QRN_GPU_ARG_PARAMS)->i = (int32_t)k->b->plan->n_params;
    keep_params(k, values, n);
}

void qrn_gpu_define(qrn_gpu_kernel *k, const char *name, const char *format, ...) {
    va_list list;
    qrn_gpu_print(&k->defines, "#define %s ", name);
    va_start(list, format);
    print_list(&k->defines, format, list);
    va_end(list);
    qrn_gpu_print(&k->defines, "\n");
}

void qrn_gpu_define_real(qrn_gpu_kernel *k, const char *name, qrn_val v) {
    qrn_gpu_define(k, name, "%d", qrn_dtype_is_float(k->b->plan->places[v].type));
}

void qrn_gpu_clamp(qrn_gpu_kernel *k, const qrn_clamp *c) { qrn_gpu_clamp_as(k, "CLAMP(v)", c); }

void qrn_gpu_clamp_as(qrn_gpu_kernel *k, const char *macro, const qrn_clamp *c) {
    if (!c->on)
        qrn_gpu_define(k, macro, "(v)");
    else if (c->low == 0.0f && isinf(c->high))
        qrn_gpu_define(k, macro, "((v) < 0.0f ? 0.0f : (v))");
    else
        qrn_gpu_define(k, macro, "q_clamp((v), as_float(0x%08xu), as_float(0x%08xu))",
                       ((union {
                           float f;
                           uint32_t u;
                       }){c->low})
                           .u,
                       ((union {
                           float f;
                           uint32_t u;
                       }){c->high})
                           .u);
}

// The nodes of the group's steps, each once, with those of a step that its head does, too.
static const uint32_t *nodes_of(const qrn_gpu_binder *b, uint32_t *n) {
    const qrn_gpu_group *g = b->group;
    uint32_t all = g->n + b->also.n;
    uint32_t *nodes = qrn_arena_alloc(b->cg->arena, (all + 1) * sizeof *nodes);
    *n = 0;
    if (nodes && b->front[g->steps[0]])
        nodes[(*n)++] = b->cg->steps[b->front[g->steps[0]] - 1].node;
    for (uint32_t i = 0; nodes && i < all; i++) {
        uint32_t step = i < g->n ? g->steps[i] : b->also.steps[i - g->n];
        uint32_t node = b->cg->steps[step].node;
        if (*n == 0 || nodes[*n - 1] != node)
            nodes[(*n)++] = node;
    }
    return nodes;
}

static void touch(qrn_gpu_binder *b, uint32_t item) {
    if (item == QRN_VAL_NONE)
        return;
    if (qrn_gpu_is_joined(b, item))
        item = b->joins[item].whole;
    uint32_t owner = item < b->cg->n_values ? qrn_compiled_owner(b->cg, item) : item;
    if (b->first[owner] == UINT32_MAX)
        b->first[owner] = b->plan->n_launches;
    b->last[owner] = b->plan->n_launches;
}

qrn_status qrn_gpu_add_launch(qrn_gpu_binder *b, qrn_gpu_launch *l) {
    qrn_gpu_plan *p = b->plan;
    l->nodes = nodes_of(b, &l->n_nodes);
    if (!l->source.text || !l->args || !l->nodes ||
        !room((void **)&p->launches, &b->cap_launches, p->n_launches + 1, sizeof *l))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
    for (uint32_t i = 0; i < l->n_args; i++)
        if (qrn_gpu_is_value(&l->args[i]))
            touch(b, l->args[i].item);
    p->launches[p->n_launches++] = *l;
    return QRN_OK;
}

static qrn_status add_launch(qrn_gpu_kernel *k, qrn_gpu_launch *l) {
    qrn_gpu_binder *b = k->b;
    qrn_gpu_text all = {0};
    qrn_gpu_print(&all, "%s%s%s", k->defines.data, qrn_cl_common, k->source);
    l->source.text = all.failed ? NULL : qrn_arena_strdup(b->cg->arena, all.data);
    qrn_free(all.data);
    l->entry = k->entry;
    // FP32 keeps to IEEE but for fused multiply-adds; nothing is relaxed.
    l->source.options = "-cl-std=CL1.2 -cl-mad-enable";
    l->args = qrn_arena_copy(b->cg->arena, k->args, k->n_args * sizeof *k->args);
    l->n_args = k->n_args;
    l->flops = k->flops;
    return qrn_gpu_add_launch(b, l);
}

qrn_status qrn_gpu_kernel_end(qrn_gpu_kernel *k, uint32_t n_dims, const size_t *global,
                              const size_t *local) {
    const qrn_gpu_group *g = k->b->group;
    qrn_gpu_expression(k, g, g->n == 0 || k->source == qrn_cl_eltwise);
    qrn_gpu_launch l = {.n_dims = n_dims};
    bool empty = false;
    for (uint32_t d = 0; d < n_dims; d++) {
        empty |= global[d] == 0;
        size_t step = local ? local[d] : 1;
        l.local[d] = local ? local[d] : 0;
        l.global[d] = (global[d] + step - 1) / step * step;
    }
    if (k->defines.failed)
        fail(k, QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", k->b->cg->name));
    if (k->status == QRN_OK && !empty)
        k->status = add_launch(k, &l);
    qrn_free(k->defines.data);
    return k->status;
}

// Does the text speak of work groups: does it need the size that it was launched with?
static bool knows_groups(const char *source) {
    return strstr(source, "get_local") || strstr(source, "barrier") || strstr(source, "reqd_work");
}

qrn_status qrn_gpu_kernel_items(qrn_gpu_kernel *k, size_t n) {
    // Items are independent of each other: any size will do, and tuning may find a better one.
    static const qrn_gpu_local others[] = {
        {{32, 1, 1}}, {{64, 1, 1}}, {{128, 1, 1}}, {{256, 1, 1}}};
    qrn_gpu_plan *p = k->b->plan;
    uint32_t before = p->n_launches;
    bool free = !knows_groups(k->source);
    QRN_TRY(qrn_gpu_kernel_end(k, 1, &n, (size_t[]){n > 16384 ? 256 : 64}));
    if (free && p->n_launches > before) {
        p->launches[before].locals = others;
        p->launches[before].n_locals = sizeof others / sizeof others[0];
    }
    return QRN_OK;
}

static qrn_status new_place(qrn_gpu_binder *b, const qrn_gpu_place *place, qrn_val *out) {
    qrn_gpu_plan *p = b->plan;
    uint32_t n = p->n_places + 1;
    if (!room((void **)&p->places, &b->cap_places, n, sizeof *place) ||
        !room((void **)&b->first, &b->cap_first, n, sizeof *b->first) ||
        !room((void **)&b->last, &b->cap_last, n, sizeof *b->last))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
    p->places[p->n_places] = *place;
    b->first[p->n_places] = UINT32_MAX;
    *out = p->n_places++;
    return QRN_OK;
}

qrn_status qrn_gpu_scratch(qrn_gpu_binder *b, qrn_dtype type, size_t count, qrn_val *out) {
    size_t bytes;
    if (!qrn_dtype_bytes(type, count, &bytes))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': scratch memory is too large", b->cg->name);
    // Until memory is planned, offset holds the size.
    qrn_gpu_place place = {.space = QRN_GPU_ARENA, .type = type, .offset = bytes};
    return new_place(b, &place, out);
}

qrn_status qrn_gpu_state(qrn_gpu_binder *b, qrn_dtype type, size_t count, qrn_val *out) {
    qrn_gpu_plan *p = b->plan;
    size_t bytes;
    if (!qrn_dtype_bytes(type, count, &bytes) ||
        !room((void **)&p->states, &b->cap_states, p->n_states + 1, sizeof *p->states))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a state", b->cg->name);
    p->states[p->n_states] = bytes;
    qrn_gpu_place place = {.space = QRN_GPU_STATE, .type = type, .index = p->n_states++};
    return new_place(b, &place, out);
}

qrn_status qrn_gpu_add_object(qrn_gpu_binder *b, const qrn_gpu_object *o, uint32_t *out) {
    qrn_gpu_plan *p = b->plan;
    if (!room((void **)&p->objects, &b->cap_objects, p->n_objects + 1, sizeof *o))
        return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory", b->cg->name);
    p->objects[p->n_objects] = *o;
    *out = p->n_objects++;
    return QRN_OK;
}

static qrn_status no_room(const qrn_gpu_binder *b) {
    return QRN_FAIL(QRN_E_MEM, "graph '%s': out of memory for a constant", b->cg->name);
}

qrn_status qrn_gpu_add_const(qrn_gpu_binder *b, qrn_dtype type, const qrn_gpu_const *c,
                             qrn_val *out) {
    qrn_gpu_plan *p = b->plan;
    if (!room((void **)&p->constants, &b->cap_constants, p->n_constants + 1, sizeof *p->constants))
        return no_room(b);
    p->constants[p->n_constants] = *c;
    qrn_gpu_place place = {.space = QRN_GPU_CONST, .type = type, .index = p->n_constants++};
    return new_place(b, &place, out);
}

static qrn_status make_named(qrn_gpu_binder *b, const qrn_gpu_form *form, qrn_dtype type,
                             size_t count, qrn_val *out, void **data) {
    const qrn_gpu_options *o = b->opt;
    bool named = form->packing != QRN_GPU_PACKING_NONE;
    size_t bytes;
    if (!qrn_dtype_bytes(type, count, &bytes))
        return no_room(b);
    qrn_gpu_const c = {.bytes = bytes, .form = *form};
    c.data = named && o->find ? o->find(o->ctx, form, bytes) : NULL;
    bool found = c.data != NULL;
    b->plan->n_found += named && found;
    b->plan->n_packed += named && !found;
    *data = NULL;
    if (!found && !(c.data = *data = qrn_arena_alloc(b->cg->arena, bytes ? bytes : 1)))
        return no_room(b);
    return qrn_gpu_add_const(b, type, &c, out);
}

qrn_status qrn_gpu_make_const(qrn_gpu_binder *b, qrn_dtype type, size_t count, qrn_val *out,
                              void **data) {
    return make_named(b, &(qrn_gpu_form){0}, type, count, out, data);
}

qrn_status qrn_gpu_make_packed(qrn_gpu_binder *b, const qrn_cstep *s, qrn_val value,
                               qrn_gpu_packing packing, qrn_dtype type, size_t count, qrn_val *out,
                               void **data) {
    qrn_gpu_form form = {s ? (uint32_t)(s - b->cg->steps) : UINT32_MAX, value, packing};
    return make_named(b, &form, type, count, out, data);
}

void qrn_gpu_fault(qrn_gpu_kernel *k, const qrn_cstep *s) {
    qrn_gpu_place place = {.space = QRN_GPU_FAULT, .type = QRN_DTYPE_I32};
    if (!k->b->plan->has_fault) {
        qrn_status made = new_place(k->b, &place, &k->b->fault);
        if (made != QRN_OK) {
            fail(k, made);
            return;
        }
        k->b->plan->has_fault = true;
    }
    qrn_gpu_out(k, "F", k->b->fault);
    qrn_gpu_int(k, (int64_t)s->node + 1);
}

void qrn_gpu_rows_slot(qrn_gpu_kernel *k, const qrn_cstep *s, uint32_t outputs) {
    qrn_gpu_plan *p = k->b->plan;
    uint32_t slot = 0;
    for (uint32_t o = 0; o < s->n_out; o++) {
        qrn_val v = s->out[o];
        if (!(outputs >> o & 1u) || v == QRN_VAL_NONE || k->b->cg->values[v].kind != QRN_CV_IO)
            continue;
        if (p->n_rows_of == QRN_GPU_MAX_ROWS) {
            fail(k, qrn_gpu_reject(k->b, s, "too many outputs have as many rows as the data say"));
            break;
        }
        slot = slot ? slot : ++p->n_slots;
        p->rows_of[p->n_rows_of++] = (qrn_gpu_rows_of){k->b->cg->values[v].io, slot};
    }
    qrn_gpu_int(k, slot);
}
