// SPDX-License-Identifier: MIT
//
// Collecting what is known of nodes and their steps. A dispatch line reads
// "dispatch,graph,node,op,family,kernel,shapes,reasons"; names of graphs and nodes may have commas
// in them, and a line is cut where the library's room ends. "memory,graph,arena N,bound N,..." is
// the plan of a graph, and "threads,graph,node,threads,tasks,span,busy,longest" says where the time
// of a node's steps went in one run.
#include "tools/quern/bench_ops.h"

#include "base/dtype.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define THREADS "threads," // begins lines about threads

bool qt_ops_init(qt_ops *ops) {
    *ops = (qt_ops){.arena = qrn_arena_create()};
    return ops->arena != NULL;
}

void qt_ops_free(qt_ops *ops) {
    qrn_strmap_clear(&ops->names);
    free(ops->rows);
    qrn_arena_destroy(ops->arena);
    *ops = (qt_ops){0};
}

static qt_op_row *find(const qt_ops *ops, const char *name) {
    uintptr_t at = (uintptr_t)qrn_strmap_get(&ops->names, name);
    return at ? &ops->rows[at - 1] : NULL;
}

// The row of that name, made when it is not there; NULL when out of memory.
static qt_op_row *enter(qt_ops *ops, const char *name, const char *type) {
    qt_op_row *r = find(ops, name);
    if (r)
        return r;
    if (ops->n == ops->cap) {
        size_t want = ops->cap ? 2 * ops->cap : 64;
        qt_op_row *grown = realloc(ops->rows, want * sizeof *grown);
        if (!grown)
            goto out;
        ops->rows = grown;
        ops->cap = want;
    }
    const char *key = qrn_arena_strdup(ops->arena, name);
    const char *kind = qrn_arena_strdup(ops->arena, type);
    if (!key || !kind || !qrn_strmap_put(&ops->names, key, (void *)(uintptr_t)(ops->n + 1)))
        goto out;
    r = &ops->rows[ops->n++];
    *r = (qt_op_row){.name = key, .type = kind, .macs = -1, .run_us = -1, .us = -1};
    return r;
out:
    ops->failed = true;
    return NULL;
}

static double count_of(const Qnn_Tensor_t *t) {
    double n = 1;
    for (uint32_t d = 0; d < t->v1.rank; d++)
        n *= t->v1.dimensions[d];
    return n;
}

static bool flag_of(const qc_op *o, const char *name) {
    for (uint32_t i = 0; i < o->n_params; i++)
        if (o->params[i].paramType == QNN_PARAMTYPE_SCALAR && strcmp(o->params[i].name, name) == 0)
            return o->params[i].scalarParam.bool8Value != 0;
    return false;
}

// Ops that multiply, and those whose multiply-adds are not counted.
static const struct {
    const char *type;
    char kind; // 'c' convolution, 't' transposed, 'f' fully connected, 'm' MatMul, '?' not counted
} mac_ops[] = {
    {"Conv1d", 'c'},
    {"Conv2d", 'c'},
    {"Conv3d", 'c'},
    {"DepthWiseConv1d", 'c'},
    {"DepthWiseConv2d", 'c'},
    {"TransposeConv1d", 't'},
    {"TransposeConv2d", 't'},
    {"TransposeConv3d", 't'},
    {"FullyConnected", 'f'},
    {"MatMul", 'm'},
    {"Lstm", '?'},
    {"Gru", '?'},
    {"GroupedQueryAttention", '?'},
};

double qt_op_macs(const qc_op *o) {
    char kind = 0;
    for (size_t i = 0; i < sizeof mac_ops / sizeof mac_ops[0]; i++)
        if (strcmp(mac_ops[i].type, o->type) == 0)
            kind = mac_ops[i].kind;
    if (!kind)
        return 0;
    if (kind == '?' || o->n_in < 2 || o->n_out < 1)
        return -1;
    const Qnn_TensorV1_t *x = &o->in[0].v1, *w = &o->in[1].v1;
    if (!x->rank || w->rank < 2)
        return -1;
    double taps = count_of(&o->in[1]);
    switch (kind) {
    case 'c': // each result sums a filter of [K..., Cin / group, Cout]
        return w->dimensions[w->rank - 1] ? count_of(o->out) * taps / w->dimensions[w->rank - 1]
                                          : 0;
    case 't': // each value of the input meets [K..., Cout / group] of [K..., Cin, Cout / group]
        return w->dimensions[w->rank - 2] ? count_of(o->in) * taps / w->dimensions[w->rank - 2] : 0;
    case 'f': // [m, n]
        return count_of(o->out) * w->dimensions[1];
    default: // the contracted length is that of the left side
        if (x->rank < 2)
            return count_of(o->out) * x->dimensions[0];
        return count_of(o->out) * x->dimensions[x->rank - (flag_of(o, "transpose_in0") ? 2 : 1)];
    }
}

static bool is_fixed(Qnn_DataType_t t) {
    unsigned family = (unsigned)t >> 8;
    return family == 3 || family == 4 || family <= 1; // fixed point and integers
}

// The instructions that multiply-adds of these types could use at best.
static qt_peak_kind peak_of(const qc_op *o) {
    if (!o->n_in || !is_fixed(o->in[0].v1.dataType))
        return QT_PEAK_F32;
    unsigned bits = qc_dtype_bits(o->in[0].v1.dataType);
    if (o->n_in > 1 && qc_dtype_bits(o->in[1].v1.dataType) > bits)
        bits = qc_dtype_bits(o->in[1].v1.dataType);
    return bits <= 8 ? QT_PEAK_I8 : QT_PEAK_I16;
}

void qt_ops_add_node(void *ctx, const qc_op *o) {
    qt_ops *ops = ctx;
    qt_op_row *r = enter(ops, o->name, o->type);
    if (!r)
        return;
    r->macs = qt_op_macs(o);
    r->peak = peak_of(o);
    for (uint32_t i = 0; i < o->n_in + o->n_out; i++) {
        const Qnn_Tensor_t *t = i < o->n_in ? &o->in[i] : &o->out[i - o->n_in];
        if (t->v1.type != QNN_TENSOR_TYPE_NULL)
            r->bytes += count_of(t) * qc_dtype_bits(t->v1.dataType) / 8;
    }
}

// Bytes of one word, "f32:1x8x8x4"; *text is moved behind it. What is not understood counts as
// nothing.
static double word_bytes(const char **text) {
    size_t len = strcspn(*text, ":");
    unsigned bits = 0;
    for (int t = 0; t < QRN_DTYPE_COUNT; t++)
        if (strlen(qrn_dtypes[t].token) == len && memcmp(qrn_dtypes[t].token, *text, len) == 0)
            bits = qrn_dtypes[t].bits;
    *text += len;
    double n = bits / 8.0;
    while (**text == ':' || **text == 'x') {
        char *end;
        double dim = strtod(++*text, &end);
        if (end != *text)
            n *= dim;
        *text = end;
    }
    return n;
}

// Families that read of their first operand only what they write.
static bool picks(const char *family) {
    static const char *const names[] = {"gather",    "gather_elements", "gather_nd",  "slice",
                                        "pick_rows", "sparse_pick",     "crop_resize"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (strcmp(names[i], family) == 0)
            return true;
    return false;
}

// Bytes that a step has to read and write, from "f32:1x8x8x4 uq8:3->uq8:...".
static double shapes_bytes(const char *family, const char *text) {
    double first = 0, others = 0, out = 0;
    bool behind = false;
    for (int i = 0; *text; i++) {
        double n = word_bytes(&text);
        *(behind ? &out : i ? &others : &first) += n;
        behind = behind || strncmp(text, "->", 2) == 0;
        text += strspn(text, " ->");
    }
    return (picks(family) && first > out ? out : first) + others + out;
}

// Ends the field at the next comma and returns the one behind it; NULL: there is none.
static char *split(char *field) {
    char *comma = strchr(field, ',');
    if (!comma)
        return NULL;
    *comma = '\0';
    return comma + 1;
}

// The parts of a line. The shapes are the first field with an arrow; before them lie kernel, family
// and op, behind them the reasons. What is left is the graph's name and the node's.
typedef struct dispatch {
    char *names, *op, *family, *kernel, *shapes, *why;
} dispatch;

static bool parse(char *line, dispatch *d) {
    char *arrow = strstr(line, "->"), *at[4]; // op, family, kernel, shapes
    if (strncmp(line, "dispatch,", 9) != 0 || !arrow)
        return false;
    d->names = line + 9;
    char *end = arrow;
    for (int i = 3; i >= 0; i--) {
        while (end > d->names && *end != ',')
            end--;
        if (end <= d->names)
            return false;
        at[i] = end + 1;
        *end-- = '\0';
    }
    *d = (dispatch){d->names, at[0], at[1], at[2], at[3], NULL};
    d->why = split(d->shapes);
    return true;
}

// The node behind the graph's name: one that is known, else what follows the first comma.
static const char *node_of(const qt_ops *ops, char *names) {
    const char *first = NULL;
    for (char *comma = strchr(names, ','); comma; comma = strchr(comma + 1, ',')) {
        first = first ? first : comma + 1;
        if (find(ops, comma + 1))
            return comma + 1;
    }
    return first;
}

static void add_memory(qt_ops *ops, const char *line) {
    const char *arena = strstr(line, ",arena "), *bound = strstr(line, ",bound ");
    if (!arena || !bound)
        return;
    ops->arena_bytes += strtod(arena + 7, NULL);
    ops->bound_bytes += strtod(bound + 7, NULL);
}

// "threads,graph,node,threads,tasks,span,busy,longest" of a node in one run.
static void add_threads(qt_ops *ops, char *line) {
    double numbers[5]; // threads, tasks, span, busy, longest
    for (int i = 4; i >= 0; i--) {
        char *comma = strrchr(line, ','), *end;
        if (!comma)
            return;
        numbers[i] = strtod(comma + 1, &end);
        if (end == comma + 1 || *end || !(numbers[i] >= 0 && numbers[i] < 1e18))
            return;
        *comma = '\0';
    }
    const char *node = node_of(ops, line + strlen(THREADS));
    qt_op_row *r = node ? find(ops, node) : NULL;
    if (!r)
        return;
    if (numbers[0] > 1e6 || numbers[1] > 1e6)
        return;
    r->threads = (unsigned)numbers[0];
    r->tasks = numbers[1] > r->tasks ? (unsigned)numbers[1] : r->tasks;
    r->span_ns += numbers[2];
    r->busy_ns += numbers[3];
    r->longest_ns += numbers[4];
}

void qt_ops_add_line(void *ctx, const char *line) {
    qt_ops *ops = ctx;
    dispatch d;
    if (strncmp(line, "memory,", 7) == 0) {
        add_memory(ops, line);
        return;
    }
    char *copy = qrn_arena_strdup(ops->arena, line);
    if (!copy) {
        ops->failed = true;
        return;
    }
    if (strncmp(line, THREADS, strlen(THREADS)) == 0) {
        add_threads(ops, copy);
        return;
    }
    if (!parse(copy, &d))
        return;
    const char *node = node_of(ops, d.names);
    qt_op_row *r = node ? enter(ops, node, d.op) : NULL;
    qt_op_step *s = r ? qrn_arena_alloc(ops->arena, sizeof *s) : NULL;
    if (!s) {
        ops->failed = ops->failed || r;
        return;
    }
    *s = (qt_op_step){
        d.family, d.kernel, d.shapes, d.why ? d.why : "", shapes_bytes(d.family, d.shapes), NULL};
    size_t len = strlen(s->why);
    while (len && strchr("; ", s->why[len - 1])) // each reason ends with them
        d.why[--len] = '\0';
    r->bytes = (r->last ? r->bytes : 0) + s->bytes;
    if (r->last)
        r->last->next = s;
    else
        r->steps = s;
    r->last = s;
}

void qt_ops_add_time(qt_ops *ops, const char *node, double us) {
    qt_op_row *r = find(ops, node);
    if (r)
        r->run_us = (r->run_us < 0 ? 0 : r->run_us) + us;
}

void qt_ops_end_run(qt_ops *ops) {
    for (size_t i = 0; i < ops->n; i++) {
        qt_op_row *r = &ops->rows[i];
        if (r->run_us >= 0 && (r->us < 0 || r->run_us < r->us))
            r->us = r->run_us;
        r->run_us = -1;
    }
}
