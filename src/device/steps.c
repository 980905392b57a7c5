// SPDX-License-Identifier: MIT
//
// Cutting a graph into fused steps. One pass in order of execution: an op begins a step, joins the
// step before it, or costs nothing. What joins does so only where nobody else reads the value
// between.
#include "device/device.h"

#include <math.h>
#include <string.h>

#define NONE QD_NO_STEP

// How an op is treated.
typedef enum rule {
    DENSE,      // Conv2d and the like: weights [kernel..., in, out]
    FULL,       // FullyConnected: weights [out, in]
    PRODUCT,    // MatMul
    DEPTHWISE,  // weights [kernel..., 1, channels]
    AFFINE,     // Batchnorm: folded into a convolution, else a step, two in quantized graphs
    ACTIVATION, // folded into a matrix or depthwise step; behind Add and Batchnorm too
    ARITHMETIC, // folded where one operand is a constant per channel
    LIGHT,
    POOL,
    HEAVY,
    MOVE,
    ARGUMENT, // Argmax, Argmin
    FREE
} rule;

static const struct {
    const char *type;
    rule rule;
} rules[] = {
    {"Conv1d", DENSE},
    {"Conv2d", DENSE},
    {"Conv3d", DENSE},
    {"TransposeConv1d", DENSE},
    {"TransposeConv2d", DENSE},
    {"TransposeConv3d", DENSE},
    {"FullyConnected", FULL},
    {"MatMul", PRODUCT},
    {"DepthWiseConv1d", DEPTHWISE},
    {"DepthWiseConv2d", DEPTHWISE},
    {"Batchnorm", AFFINE},
    {"Relu", ACTIVATION},
    {"Relu1", ACTIVATION},
    {"Relu6", ACTIVATION},
    {"ReluMinMax", ACTIVATION},
    {"HardSwish", ACTIVATION},
    {"Prelu", ACTIVATION},
    {"ElementWiseAdd", ARITHMETIC},
    {"ElementWiseSubtract", ARITHMETIC},
    {"ElementWiseMultiply", ARITHMETIC},
    {"ElementWiseDivide", ARITHMETIC},
    {"ElementWiseBinary", ARITHMETIC},
    {"ElementWiseAsin", HEAVY},
    {"ElementWiseAtan", HEAVY},
    {"ElementWiseCos", HEAVY},
    {"ElementWiseExp", HEAVY},
    {"ElementWiseLog", HEAVY},
    {"ElementWisePower", HEAVY},
    {"ElementWiseRsqrt", HEAVY},
    {"ElementWiseSin", HEAVY},
    {"ElementWiseSoftplus", HEAVY},
    {"Elu", HEAVY},
    {"Gelu", HEAVY},
    {"GroupNorm", HEAVY},
    {"InstanceNorm", HEAVY},
    {"L2Norm", HEAVY},
    {"LayerNorm", HEAVY},
    {"LogSoftmax", HEAVY},
    {"Logit", HEAVY},
    {"Lrn", HEAVY},
    {"MaskedSoftmax", HEAVY},
    {"RmsNorm", HEAVY},
    {"Sigmoid", HEAVY},
    {"Softmax", HEAVY},
    {"Tanh", HEAVY},
    {"PoolAvg2d", POOL},
    {"PoolAvg3d", POOL},
    {"PoolMax2d", POOL},
    {"PoolMax3d", POOL},
    {"L2Pool2d", POOL},
    {"BatchPermutation", MOVE},
    {"BatchToSpace", MOVE},
    {"ChannelShuffle", MOVE},
    {"Col2Im", MOVE},
    {"Concat", MOVE},
    {"ConstantOfShape", MOVE},
    {"DepthToSpace", MOVE},
    {"ExtractPatches", MOVE},
    {"Gather", MOVE},
    {"GatherElements", MOVE},
    {"GatherNd", MOVE},
    {"Im2Col", MOVE},
    {"OneHot", MOVE},
    {"Pack", MOVE},
    {"Pad", MOVE},
    {"ScatterElements", MOVE},
    {"ScatterNd", MOVE},
    {"SpaceToBatch", MOVE},
    {"SpaceToDepth", MOVE},
    {"Split", MOVE},
    {"StridedSlice", MOVE},
    {"Tile", MOVE},
    {"Transpose", MOVE},
    {"UnPack", MOVE},
    {"ExpandDims", FREE},
    {"Reshape", FREE},
    {"Shape", FREE},
    {"Squeeze", FREE},
    {"Argmax", ARGUMENT},
    {"Argmin", ARGUMENT},
    {"Cast", LIGHT},
    {"Convert", LIGHT},
    {"Dequantize", LIGHT},
    {"ElementWiseAbs", LIGHT},
    {"ElementWiseAnd", LIGHT},
    {"ElementWiseCeil", LIGHT},
    {"ElementWiseEqual", LIGHT},
    {"ElementWiseFloor", LIGHT},
    {"ElementWiseFloorDiv", LIGHT},
    {"ElementWiseFmod", LIGHT},
    {"ElementWiseGreater", LIGHT},
    {"ElementWiseGreaterEqual", LIGHT},
    {"ElementWiseLess", LIGHT},
    {"ElementWiseLessEqual", LIGHT},
    {"ElementWiseMaximum", LIGHT},
    {"ElementWiseMinimum", LIGHT},
    {"ElementWiseMod", LIGHT},
    {"ElementWiseMux", LIGHT},
    {"ElementWiseNeg", LIGHT},
    {"ElementWiseNot", LIGHT},
    {"ElementWiseNotEqual", LIGHT},
    {"ElementWiseOr", LIGHT},
    {"ElementWiseRound", LIGHT},
    {"ElementWiseSelect", LIGHT},
    {"ElementWiseSign", LIGHT},
    {"ElementWiseSquareRoot", LIGHT},
    {"ElementWiseSquaredDifference", LIGHT},
    {"ElementWiseUnary", LIGHT},
    {"ElementWiseXor", LIGHT},
    {"IsInf", LIGHT},
    {"IsNan", LIGHT},
    {"Quantize", LIGHT},
    {"ReduceMax", LIGHT},
    {"ReduceMean", LIGHT},
    {"ReduceMin", LIGHT},
    {"ReduceProd", LIGHT},
    {"ReduceSum", LIGHT},
    {"ReduceSumSquare", LIGHT},
    {"Resize", LIGHT},
    {"ResizeBilinear", LIGHT},
    {"ResizeNearestNeighbor", LIGHT},
    {"RotaryEmbedding", LIGHT},
};

// Operations of ElementWiseNeuron, by QNN's numbers.
static const rule neurons[] = {HEAVY,      HEAVY, HEAVY, ACTIVATION, ACTIVATION,
                               ACTIVATION, HEAVY, HEAVY, HEAVY};
enum { NEURON_SIGMOID = 6, BINARY_DIVIDE = 2 };

// From the only published runs with such ops (docs/estimate.md): cycles of an operation against
// those of a sum over as many values.
static const struct {
    const char *type;
    uint32_t kind; // of ElementWiseBinary
    double thin, wide;
} efforts[] = {
    {"ElementWiseDivide", 2, 10.2, 10.2},
    {"ElementWiseMultiply", 13, QD_PRODUCT_EFFORT, 1}, // wide ones are among the fitted steps
    {"ElementWiseSubtract", 18, 4.1, 4.1},
};
#define PRELU_EFFORT 2
#define THIN_CHANNELS 16u // fewer are thin; no measured network has such arithmetic
#define TILE_CHANNELS 32u

typedef struct cut {
    const qd_graph *g;
    qd_steps *out;
    uint32_t *step_of; // per op
    uint32_t *maker;   // per value: step that makes it, through free ops; NONE
    uint32_t *origin;  // per value: the value it is under another shape
    uint32_t *n_uses;  // per value, free ops looked through
    bool *multiplied;  // per value: a MatMul reads it
    bool *border;      // per value: at an end of the graph
} cut;

static bool find_rule(const qd_op *o, rule *out) {
    if (strcmp(o->type, "ElementWiseNeuron") == 0) {
        *out = o->kind < sizeof neurons / sizeof neurons[0] ? neurons[o->kind] : HEAVY;
        return true;
    }
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++)
        if (strcmp(rules[i].type, o->type) == 0) {
            *out = rules[i].rule;
            return true;
        }
    *out = LIGHT;
    return false;
}

static double count(const qd_value *v) {
    double n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}

static double r32(double x) { return 32 * ceil(x / 32); }

static const qd_value *value(const cut *c, uint32_t index) { return &c->g->values[index]; }

// Never 0, for it divides; a value without elements costs nothing anyway.
static uint32_t last_dim(const qd_value *v) {
    return v->rank && v->dims[v->rank - 1] ? v->dims[v->rank - 1] : 1;
}

bool qd_is_thin(const qd_value *v) { return last_dim(v) < THIN_CHANNELS; }

static double activations(const cut *c, const uint32_t *list, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        if (!value(c, list[i])->constant)
            sum += count(value(c, list[i]));
    return sum;
}

// Values lie in tiles of 32 channels (HTP-NET-06): a picture of one channel takes thin arithmetic
// as long as one of many.
static double filling(const cut *c, const uint32_t *list, uint32_t n) {
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) {
        const qd_value *v = value(c, list[i]);
        if (!v->constant && last_dim(v) < TILE_CHANNELS)
            sum += count(v) / last_dim(v) * (TILE_CHANNELS - last_dim(v));
    }
    return sum;
}

// Tiles that are nearly empty: the step takes all of them, at a rate of its own.
static void set_thin(const cut *c, qd_step *s) {
    s->thin = true;
    s->fill = filling(c, s->op->in, s->op->n_in) + filling(c, s->op->out, s->op->n_out);
}

// --- beginning a step

static qd_step *begin(cut *c, const qd_op *o, qd_class kind) {
    qd_step *s = &c->out->list[c->out->n++];
    *s = (qd_step){.kind = kind,
                   .op = o,
                   .n_ops = 1,
                   .source = c->maker[c->origin[o->in[0]]],
                   .in = activations(c, o->in, o->n_in),
                   .out = activations(c, o->out, o->n_out)};
    bool data = kind == QD_LIGHT || kind == QD_POOL || kind == QD_HEAVY;
    if (data && qd_is_thin(value(c, o->out[0])))
        set_thin(c, s);
    c->step_of[o - c->g->ops] = c->out->n - 1;
    for (uint32_t i = 0; i < o->n_out; i++)
        c->maker[o->out[i]] = c->out->n - 1;
    return s;
}

double qd_padded(const qd_product *p) {
    bool thin = p->groups > 1 && p->in / p->groups < 32;
    double depth = p->taps * (thin ? 32 : r32(p->in / p->groups));
    double columns = thin ? r32(p->out) : p->groups * r32(p->out / p->groups);
    return r32(p->rows) * p->batch * depth * columns;
}

double qd_results(const qd_product *p) { return r32(p->rows) * p->batch * r32(p->out); }

static void set_matrix(qd_step *s, qd_product p) {
    s->size = p;
    s->macs = p.rows * p.batch * p.taps * (p.in / p.groups) * p.out;
    s->padded = qd_padded(&p);
    s->results = qd_results(&p);
}

// Weights of 8 bits stay so beside floats; beside integers a precision of floats is a question of
// what would be, and theirs would be floats, too.
static void set_weights(qd_step *s, const qd_value *w, const qd_value *x) {
    bool stay = w->bits && (w->bits <= 4 || (w->bits <= 8 && !x->active_bits));
    s->weights = w->constant ? count(w) : 0;
    s->weight_bits = w->constant && stay ? w->bits : 0;
}

// Frames of a 3-D convolution are separate; rows and columns of an image are rows.
static void dense(cut *c, const qd_op *o) {
    const qd_value *w = value(c, o->in[1]), *y = value(c, o->out[0]);
    qd_step *s = begin(c, o, QD_MATRIX);
    double taps = 1, groups = o->groups ? o->groups : 1;
    for (uint32_t i = 0; i + 2 < w->rank; i++)
        taps *= w->dims[i];
    double columns = last_dim(y), frames = y->rank == 5 ? fmax(1, y->dims[1]) : 1;
    double rows = count(y) / columns / frames;
    double in = w->rank >= 2 ? (double)w->dims[w->rank - 2] * groups : 1;
    set_matrix(s, (qd_product){rows, frames, taps, in, columns, groups});
    if (strncmp(o->type, "Transpose", 9) == 0) // each input value meets the filter once
        s->macs = count(value(c, o->in[0])) * taps * (columns / groups);
    set_weights(s, w, value(c, o->in[0]));
}

static void full(cut *c, const qd_op *o) {
    const qd_value *w = value(c, o->in[1]), *y = value(c, o->out[0]);
    qd_step *s = begin(c, o, QD_MATRIX);
    double columns = last_dim(y);
    set_matrix(s, (qd_product){count(y) / columns, 1, 1, last_dim(w), columns, 1});
    set_weights(s, w, value(c, o->in[0]));
}

static void gemm(cut *c, const qd_op *o) {
    const qd_value *a = value(c, o->in[0]), *b = value(c, o->in[1]), *y = value(c, o->out[0]);
    qd_step *s = begin(c, o, QD_MATRIX);
    double columns = last_dim(y), rows = y->rank >= 2 ? fmax(1, y->dims[y->rank - 2]) : 1;
    double batch = fmax(1, count(y) / columns / rows);
    // However the operands are transposed, elements of a are batch * rows * depth.
    double depth = count(a) / (batch * rows);
    if (b->constant) { // one matrix for all: the batch is more rows
        rows *= batch;
        batch = 1;
        set_weights(s, b, a);
    } else {
        s->cache = count(b);
    }
    set_matrix(s, (qd_product){rows, batch, 1, depth, columns, 1});
}

static void depthwise(cut *c, const qd_op *o) {
    const qd_value *w = value(c, o->in[1]), *y = value(c, o->out[0]);
    qd_step *s = begin(c, o, QD_DEPTHWISE);
    double taps = count(w) / last_dim(w);
    s->macs = count(y) * taps;
    s->weights = count(w);
}

// --- joining the step before

// The step that makes input i, if nobody else reads what it makes.
static qd_step *before(const cut *c, const qd_op *o, uint32_t i) {
    uint32_t v = c->origin[o->in[i]], step = c->maker[v];
    if (step == NONE || c->n_uses[v] != 1 || value(c, v)->output)
        return NULL;
    return &c->out->list[step];
}

static void join(cut *c, qd_step *s, const qd_op *o) {
    s->n_ops++;
    s->out = activations(c, o->out, o->n_out);
    c->step_of[o - c->g->ops] = (uint32_t)(s - c->out->list);
    for (uint32_t i = 0; i < o->n_out; i++)
        c->maker[o->out[i]] = (uint32_t)(s - c->out->list);
}

static bool is_weighted(const qd_step *s) {
    return s && (s->kind == QD_MATRIX || s->kind == QD_DEPTHWISE);
}

static bool is_sum(const qd_step *s) {
    return s && s->kind == QD_LIGHT && (s->split || strcmp(s->op->type, "ElementWiseAdd") == 0);
}

static bool is_sigmoid(const qd_step *s) {
    return s && s->kind == QD_HEAVY && s->n_ops == 1 &&
           (strcmp(s->op->type, "Sigmoid") == 0 ||
            (strcmp(s->op->type, "ElementWiseNeuron") == 0 && s->op->kind == NEURON_SIGMOID));
}

// Slopes for each channel (PRelu) are read beside the data; one for all (LeakyRelu) is not.
static bool has_slopes(const cut *c, const qd_op *o) {
    return strcmp(o->type, "Prelu") == 0 && o->n_in > 1 && count(value(c, o->in[1])) > 1;
}

static void activation(cut *c, const qd_op *o) {
    qd_step *s = before(c, o, 0);
    if (has_slopes(c, o)) {
        s = begin(c, o, QD_LIGHT);
        s->effort = PRELU_EFFORT;
        set_thin(c, s);
    } else if (is_weighted(s) || is_sum(s)) {
        join(c, s, o);
    } else {
        begin(c, o, QD_LIGHT);
    }
}

static void affine(cut *c, const qd_op *o) {
    qd_step *s = before(c, o, 0);
    if (is_weighted(s))
        join(c, s, o);
    else
        begin(c, o, QD_LIGHT)->split = true;
}

// A constant that is one number, or one per channel.
static bool per_channel(const qd_value *v, const qd_value *y) {
    return v->constant && (count(v) == 1 || count(v) == last_dim(y));
}

static bool is_division(const qd_op *o) {
    return strcmp(o->type, "ElementWiseDivide") == 0 ||
           (strcmp(o->type, "ElementWiseBinary") == 0 && o->kind == BINARY_DIVIDE);
}

static double effort_of(const qd_op *o, bool thin) {
    bool coded = strcmp(o->type, "ElementWiseBinary") == 0;
    for (size_t i = 0; i < sizeof efforts / sizeof efforts[0]; i++)
        if (coded ? o->kind == efforts[i].kind : strcmp(o->type, efforts[i].type) == 0)
            return thin ? efforts[i].thin : efforts[i].wide;
    return 1;
}

static void arithmetic(cut *c, const qd_op *o) {
    const qd_value *y = value(c, o->out[0]);
    for (uint32_t i = 0; i < 2 && o->n_in >= 2; i++) {
        qd_step *s = before(c, o, i);
        if (is_weighted(s) && per_channel(value(c, o->in[1 - i]), y)) {
            join(c, s, o);
            return;
        }
        // x * sigmoid(x)
        if (is_sigmoid(s) && strcmp(o->type, "ElementWiseMultiply") == 0 &&
            c->origin[s->op->in[0]] == c->origin[o->in[1 - i]]) {
            join(c, s, o);
            return;
        }
    }
    qd_step *s = begin(c, o, QD_LIGHT);
    s->divides = is_division(o);
    s->effort = effort_of(o, s->thin);
}

uint32_t qd_passes(const qd_step *s, qd_precision p) { return s->split && p != QD_FP16 ? 2 : 1; }

uint32_t qd_costs(const qd_step *s, qd_precision p) {
    return s->in_place && p == QD_FP16 ? 0 : qd_passes(s, p);
}

double qd_work(const qd_step *s) {
    double effort = s->effort > 0 ? s->effort : 1;
    return s->kind == QD_DEPTHWISE ? s->macs : effort * (s->in + s->out + s->windows + s->fill);
}

// --- the pass

// The layout changes at the graph's ends are part of every invocation.
static bool at_border(const cut *c, const qd_op *o) {
    return c->border[c->origin[o->in[0]]] || c->border[o->out[0]];
}

static bool is_conversion(const qd_op *o) {
    return strcmp(o->type, "Quantize") == 0 || strcmp(o->type, "Dequantize") == 0 ||
           strcmp(o->type, "Convert") == 0 || strcmp(o->type, "Cast") == 0;
}

// Inputs and results, and what they are before or behind a conversion of their type.
static void find_borders(cut *c) {
    const qd_graph *g = c->g;
    for (uint32_t i = 0; i < g->n_values; i++)
        c->border[i] = g->values[i].input || g->values[i].output;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const qd_op *o = &g->ops[i];
        if (!is_conversion(o) || !o->n_in || !o->n_out)
            continue;
        c->border[o->out[0]] |= value(c, o->in[0])->input;
        c->border[o->in[0]] |= value(c, o->out[0])->output;
    }
}

// MatMul takes either operand transposed, scaled by a number or not.
static bool into_product(const cut *c, const qd_op *o) {
    return o->swaps && c->n_uses[o->out[0]] == 1 && c->multiplied[o->out[0]];
}

static void pool(cut *c, const qd_op *o) {
    const qd_value *x = value(c, o->in[0]), *y = value(c, o->out[0]);
    double window = o->window ? o->window : 1;
    bool global = window * count(y) >= count(x) && count(y) == last_dim(y);
    qd_step *s = begin(c, o, global ? QD_LIGHT : QD_POOL);
    if (!global)
        s->windows = 0.5 * count(y) * window;
}

// A Concat of channels whose inputs, but the last, fill their tiles (HTP-NET-08). Integers of other
// scales must be computed anew all the same; fp16 values are written where they belong.
static bool joins_tiles(const cut *c, const qd_op *o) {
    const qd_value *y = value(c, o->out[0]);
    if (strcmp(o->type, "Concat") != 0 || o->n_in < 2)
        return false;
    for (uint32_t i = 0; i < o->n_in; i++) {
        const qd_value *x = value(c, o->in[i]);
        if (x->constant || x->input || x->rank != y->rank || last_dim(x) == last_dim(y) ||
            (i + 1 < o->n_in && last_dim(x) % 32))
            return false;
    }
    return true;
}

static void free_op(cut *c, const qd_op *o) {
    for (uint32_t i = 0; i < o->n_out && o->n_in; i++) {
        c->origin[o->out[i]] = c->origin[o->in[0]];
        c->maker[o->out[i]] = c->maker[o->in[0]];
    }
}

static void move(cut *c, const qd_op *o) {
    if (strcmp(o->type, "Transpose") == 0 && (at_border(c, o) || into_product(c, o))) {
        free_op(c, o);
        return;
    }
    qd_step *s = begin(c, o, QD_MOVE);
    s->in_place = joins_tiles(c, o);
    s->joins = strcmp(o->type, "Concat") == 0 && o->n_in > 1;
}

// The best class of each pixel. Behind a Resize that nobody else reads, pixels are compared as they
// are made: the enlarged picture is stored nowhere, and neither step counts it.
static void argument(cut *c, const qd_op *o) {
    qd_step *made = before(c, o, 0);
    qd_step *s = begin(c, o, QD_LIGHT);
    if (made && strncmp(made->op->type, "Resize", 6) == 0)
        made->out = made->fill = s->in = s->fill = 0;
}

// Of an op that multiplies its matrices in each time step; how long that takes nobody measured.
static double recurrent_macs(const cut *c, const qd_op *o) {
    const qd_value *x = value(c, o->in[0]);
    double weights = 0;
    if (strcmp(o->type, "Lstm") != 0 && strcmp(o->type, "Gru") != 0)
        return 0;
    for (uint32_t i = 1; i < o->n_in; i++)
        if (value(c, o->in[i])->constant && value(c, o->in[i])->rank == 2)
            weights += count(value(c, o->in[i]));
    return count(x) / last_dim(x) * weights;
}

static void visit(cut *c, const qd_op *o) {
    rule r;
    bool known = find_rule(o, &r);
    if (o->n_out == 0 || o->n_in == 0)
        return;
    if (!known)
        c->out->unknown[c->out->n_unknown++] = o;
    bool weighted = r == DENSE || r == FULL || r == PRODUCT || r == DEPTHWISE;
    if (weighted && o->n_in < 2)
        return;
    switch (r) {
    case DENSE:
        dense(c, o);
        break;
    case FULL:
        full(c, o);
        break;
    case PRODUCT:
        gemm(c, o);
        break;
    case DEPTHWISE:
        depthwise(c, o);
        break;
    case AFFINE:
        affine(c, o);
        break;
    case ACTIVATION:
        activation(c, o);
        break;
    case ARITHMETIC:
        arithmetic(c, o);
        break;
    case POOL:
        pool(c, o);
        break;
    case HEAVY:
        begin(c, o, QD_HEAVY);
        break;
    case MOVE:
        move(c, o);
        break;
    case ARGUMENT:
        argument(c, o);
        break;
    case FREE:
        free_op(c, o);
        break;
    default:
        begin(c, o, QD_LIGHT)->macs = recurrent_macs(c, o);
    }
}

// Is the op a multiplication by one number, whose result a MatMul reads?
static bool scales_operand(const cut *c, const qd_op *o) {
    return strcmp(o->type, "ElementWiseMultiply") == 0 && o->n_in == 2 && o->n_out == 1 &&
           c->multiplied[o->out[0]] &&
           (count(value(c, o->in[0])) == 1 || count(value(c, o->in[1])) == 1);
}

// Readers of a value: those of a value under another shape are its own.
static void count_uses(cut *c) {
    const qd_graph *g = c->g;
    for (uint32_t i = 0; i < g->n_ops; i++) {
        const qd_op *o = &g->ops[i];
        rule r;
        find_rule(o, &r);
        for (uint32_t k = 0; k < o->n_in; k++)
            if (r != FREE) {
                c->n_uses[c->origin[o->in[k]]]++;
                c->multiplied[o->in[k]] |= r == PRODUCT;
            }
        if (r == FREE)
            free_op(c, o);
    }
    for (uint32_t i = 0; i < g->n_ops; i++)
        for (uint32_t k = 0; k < g->ops[i].n_in && scales_operand(c, &g->ops[i]); k++)
            c->multiplied[g->ops[i].in[k]] = true;
}

#define FEW_ROWS 32 // what a tile of the matrix unit holds

static bool has_few_rows(const qd_step *s) {
    return s->kind == QD_MATRIX && s->size.rows <= FEW_ROWS;
}

// Decides whether the graph is one that streams its weights, and marks those steps.
static void find_streams(qd_steps *out) {
    double few = 0, all = 0;
    for (uint32_t i = 0; i < out->n; i++) {
        all += out->list[i].weights;
        few += has_few_rows(&out->list[i]) ? out->list[i].weights : 0;
    }
    out->decode = few > all / 2;
    for (uint32_t i = 0; i < out->n; i++) {
        qd_step *s = &out->list[i];
        s->streamed = out->decode && has_few_rows(s);
        s->cache = s->streamed ? s->cache : 0;
    }
}

bool qd_is_decoding(const qd_steps *s) {
    for (uint32_t i = 0; i < s->n; i++)
        if (s->list[i].cache > 0)
            return s->decode;
    return false;
}

qrn_status qd_cut(const qd_graph *g, qd_steps *out) {
    size_t nv = g->n_values + 1, no = g->n_ops + 1;
    *out = (qd_steps){.list = qrn_arena_alloc(g->arena, no * sizeof *out->list),
                      .unknown = qrn_arena_alloc(g->arena, no * sizeof *out->unknown)};
    cut c = {.g = g,
             .out = out,
             .step_of = qrn_arena_alloc(g->arena, no * sizeof *c.step_of),
             .maker = qrn_arena_alloc(g->arena, nv * sizeof *c.maker),
             .origin = qrn_arena_alloc(g->arena, nv * sizeof *c.origin),
             .n_uses = qrn_arena_alloc(g->arena, nv * sizeof *c.n_uses),
             .multiplied = qrn_arena_alloc(g->arena, nv * sizeof *c.multiplied),
             .border = qrn_arena_alloc(g->arena, nv * sizeof *c.border)};
    if (!out->list || !out->unknown || !c.step_of || !c.maker || !c.origin || !c.n_uses ||
        !c.multiplied || !c.border)
        return QRN_FAIL(QRN_E_MEM, "estimate: no memory");
    for (uint32_t i = 0; i < g->n_values; i++) {
        c.maker[i] = NONE;
        c.origin[i] = i;
    }
    for (uint32_t i = 0; i < g->n_ops; i++)
        c.step_of[i] = NONE;
    out->step_of = c.step_of;
    out->maker = c.maker;
    out->origin = c.origin;
    count_uses(&c);
    find_borders(&c);
    for (uint32_t i = 0; i < g->n_ops; i++)
        visit(&c, &g->ops[i]);
    find_streams(out);
    return QRN_OK;
}
