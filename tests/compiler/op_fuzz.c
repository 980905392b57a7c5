// SPDX-License-Identifier: MIT
//
// Checks and runs calls of an op. Every operand, the attributes, the scratch memory and the state
// lie in blocks of exactly their size, so that AddressSanitizer sees the first byte too many.
#include "op_fuzz.h"

#include "base/cpu.h"
#include "base/mem.h"
#include "base/sanitized.h"
#include "op_case.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define RUN_BYTES ((size_t)1 << 18) // an operand larger than that is checked, not run
#define RUN_WORK                                                                                   \
    ((size_t)1 << 22) // so are calls that multiply to more, and to more than their seed
#define SECONDS 60    // that a call may take
#define MAX_TASKS 8
#define MAX_SEEDS 64

typedef struct counts {
    uint32_t checked, accepted, refused, run;
    uint64_t ran_rows; // bit per row
} counts;

// What is being run, for those who report an error.
static const op_case *current;
static const qrn_kernel *current_row;

static void report(void) {
    if (!current)
        return;
    print_message("\nin row %s: ", current_row ? current_row->name : "(check)");
    op_case_print(current);
    current = NULL;
}

static void too_long(int signal_number) {
    (void)signal_number;
    report();
    abort();
}

#ifdef QRN_ASAN
void __sanitizer_set_death_callback(void (*fn)(void));
#endif

static void watch(void) {
#ifdef QRN_ASAN
    __sanitizer_set_death_callback(report);
#endif
    signal(SIGALRM, too_long);
}

// --- building a call

typedef struct built {
    qrn_view views[OP_MAX_OPERANDS];
    qrn_view *ptrs[OP_MAX_OPERANDS];
    qrn_quant quants[OP_MAX_OPERANDS];
    size_t bytes[OP_MAX_OPERANDS];
    void *owned[4 * OP_MAX_OPERANDS + 1];
    uint32_t n_owned;
    qrn_kcall k;
} built;

// Aligned as kernels may expect, and not a byte longer.
static void *block(built *b, size_t bytes) {
    void *p = NULL;
    assert_int_equal(posix_memalign(&p, QRN_ALIGN, bytes ? bytes : 1), 0);
    b->owned[b->n_owned++] = p;
    return p;
}

static void destroy(built *b) {
    for (uint32_t i = 0; i < b->n_owned; i++)
        free(b->owned[i]);
    b->n_owned = 0;
}

static void fill_floats(qrn_dtype t, uint8_t *p, size_t bytes) {
    for (size_t i = 0; t == QRN_DTYPE_F32 && i + 4 <= bytes; i += 4)
        memcpy(p + i, &(float){(float)(int32_t)op_random() * 0x1p-28f}, 4);
    for (size_t i = 0; t == QRN_DTYPE_F64 && i + 8 <= bytes; i += 8)
        memcpy(p + i, &(double){(double)(int32_t)op_random() * 0x1p-28}, 8);
}

static void fill(const op_operand *o, uint8_t *p, size_t bytes) {
    size_t elem = (qrn_dtypes[o->dtype].bits + 7u) / 8u;
    switch (o->fill % 8) {
    case 0: // zeros, or all bits set
        memset(p, o->fill & 8 ? 0xff : 0, bytes);
        return;
    case 1: // small integers, also as indices of sparse operands
    case 2:
        memset(p, 0, bytes);
        elem = o->n_sparse_dims ? sizeof(int32_t) : elem;
        for (size_t i = 0; i < bytes; i += elem)
            p[i] = (uint8_t)op_below(o->fill & 16 ? 4 : 16);
        return;
    default:
        for (size_t i = 0; i < bytes; i++)
            p[i] = (uint8_t)op_random();
        if (o->fill & 32)
            fill_floats(o->dtype, p, bytes);
    }
}

// Changes one element.
static void poke(uint8_t *p, size_t bytes, size_t elem) {
    uint8_t *at = p + op_random() % (bytes / elem) * elem;
    for (size_t i = 0; i < elem; i++)
        at[i] = (uint8_t)(at[i] + (op_below(2) ? (i == 0) : op_random()));
}

static uint32_t groups_of(const op_operand *o) {
    size_t n = o->kind == QRN_QUANT_AXIS ? o->dims[o->axis] : 1;
    for (uint32_t d = 0; d < o->rank && o->kind == QRN_QUANT_BLOCK; d++)
        n *= (o->dims[d] - 1) / o->block[d] + 1;
    return n <= RUN_BYTES ? (uint32_t)n : 0;
}

// False: more groups than the test has memory for.
static bool build_quant(built *b, const op_operand *o, qrn_quant *q) {
    *q = (qrn_quant){.kind = o->kind, .bits = o->bits, .shift = o->shift};
    if (o->kind == QRN_QUANT_TENSOR) {
        q->scale = o->scale;
        q->offset = o->offset;
        return true;
    }
    uint32_t n = groups_of(o);
    float *scales = block(b, n * sizeof *scales);
    int32_t *offsets = o->has_offsets ? block(b, n * sizeof *offsets) : NULL;
    bool real = o->has_real_offsets && o->kind == QRN_QUANT_BLOCK;
    float *real_offsets = real ? block(b, n * sizeof *real_offsets) : NULL;
    for (uint32_t i = 0; i < n; i++) {
        scales[i] = o->scale * (1.0f + (float)(i % 7) / 8);
        if (offsets)
            offsets[i] = (int32_t)((uint32_t)o->offset + i % 3);
        if (real_offsets)
            real_offsets[i] = (float)(i % 5) - 2;
    }
    q->axis = o->kind == QRN_QUANT_AXIS ? o->axis : 0;
    q->n_groups = n;
    q->scales = scales;
    q->offsets = offsets;
    q->real_offsets = real_offsets;
    memcpy(q->block, o->block, sizeof q->block);
    return n > 0;
}

static bool build_operand(built *b, const op_operand *o, uint32_t i) {
    qrn_view *v = &b->views[i];
    *v = (qrn_view){.dtype = o->dtype,
                    .rank = o->rank,
                    .n_sparse = o->n_sparse,
                    .n_sparse_dims = o->n_sparse_dims};
    memcpy(v->dims, o->dims, sizeof v->dims);
    b->ptrs[i] = o->there ? v : NULL;
    if (!o->there)
        return true;
    if (o->kind != QRN_QUANT_NONE) {
        if (!build_quant(b, o, &b->quants[i]))
            return false;
        v->quant = &b->quants[i];
    }
    if (!op_operand_bytes(o, &b->bytes[i]) || (o->constant && b->bytes[i] > RUN_BYTES))
        return false;
    if (!o->constant)
        return true;
    v->data = block(b, b->bytes[i]);
    if (o->given && o->given_bytes == b->bytes[i])
        memcpy(v->data, o->given, b->bytes[i]);
    else
        fill(o, v->data, b->bytes[i]);
    if (o->poke)
        poke(v->data, b->bytes[i], (qrn_dtypes[o->dtype].bits + 7u) / 8u);
    return true;
}

// As the loader gives it to the check: only constants have data. False: too large for a test.
static bool build(built *b, const op_case *c) {
    b->n_owned = 0;
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++)
        if (!build_operand(b, &c->operands[i], i))
            return false;
    size_t bytes = c->op->family->args_bytes;
    void *args = bytes ? block(b, bytes) : NULL;
    if (bytes)
        memcpy(args, c->args, bytes);
    b->k = (qrn_kcall){.args = args,
                       .in = b->ptrs,
                       .out = b->ptrs + c->n_in,
                       .n_in = c->n_in,
                       .n_out = c->n_out,
                       .n_tasks = 1};
    return true;
}

static const char *operands_missing(const op_case *c) {
    const qrn_cop *op = c->op;
    if (c->n_in < op->min_in || (c->n_in > op->max_in && op->max_in != QRN_COP_MANY) ||
        c->n_out < op->min_out || (c->n_out > op->max_out && op->max_out != QRN_COP_MANY))
        return "number of operands";
    for (uint32_t i = 0; i < c->n_in; i++)
        if (!c->operands[i].there && (i >= 32 || ((op->needs_in >> i) & 1)))
            return "an input is missing";
    for (uint32_t i = 0; i < c->n_out; i++)
        if (!c->operands[c->n_in + i].there && (i >= 32 || ((op->needs_out >> i) & 1)))
            return "an output is missing";
    return NULL;
}

// --- running

// *work: elements of the largest input times those of the largest output.
static bool can_run(const op_case *c, const built *b, size_t *work) {
    size_t in = 1, out = 1;
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        if (!c->operands[i].there)
            continue;
        size_t count = qrn_view_count(&b->views[i]), *most = i < c->n_in ? &in : &out;
        if (b->bytes[i] > RUN_BYTES || count > RUN_BYTES)
            return false;
        *most = count > *most ? count : *most;
    }
    *work = in * out;
    return true;
}

static void give_data(built *b, const op_case *c) {
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const op_operand *o = &c->operands[i];
        if (!o->there || b->views[i].data)
            continue;
        b->views[i].data = block(b, b->bytes[i]);
        fill(o, b->views[i].data, b->bytes[i]);
    }
}

typedef struct follower {
    qrn_follower base;
    size_t count, told;
} follower;

static void follow(const qrn_follower *f, size_t begin, size_t end) {
    follower *self = (follower *)(uintptr_t)f;
    assert_true(begin < end && end <= self->count);
    self->told += end - begin;
}

static qrn_status run_tasks(const qrn_kernel *row, qrn_kcall k, uint32_t n_tasks) {
    qrn_status s = QRN_OK;
    k.n_tasks = n_tasks;
    for (k.task = 0; k.task < n_tasks && s == QRN_OK; k.task++)
        s = row->fn(&k);
    return s;
}

// Shapes that depend on the data come out no larger than they were declared.
static void check_shapes(built *b, const op_case *c) {
    for (uint32_t i = 0; i < c->n_in + c->n_out; i++) {
        const op_operand *o = &c->operands[i];
        for (uint32_t d = 0; o->there && d < o->rank; d++)
            assert_true(b->views[i].dims[d] <= o->dims[d]);
        assert_true(b->views[i].rank == o->rank || !o->there);
        assert_true(b->views[i].n_sparse <= o->n_sparse);
        memcpy(b->views[i].dims, o->dims, sizeof o->dims);
        b->views[i].n_sparse = o->n_sparse;
    }
}

static void run_once(const qrn_kernel *row, built *b, const op_case *c, uint32_t n_tasks) {
    qrn_kcall k = b->k;
    follower f = {.base = {follow}, .count = c->n_out && k.out[0] ? qrn_view_count(k.out[0]) : 0};
    if (c->op->family->reports)
        k.follower = &f.base;
    qrn_status s = run_tasks(row, k, n_tasks);
    if (s == QRN_OK && c->op->family->reports)
        assert_int_equal(f.told, f.count);
    assert_true(s == QRN_OK || !c->op->family->element_wise);
    check_shapes(b, c);
}

static void run_row(const qrn_kernel *row, built *b, const op_case *c, size_t scratch) {
    uint32_t kept = b->n_owned;
    size_t state = c->op->state ? c->op->state(&b->k) : 0;
    b->k.scratch = scratch ? block(b, scratch) : NULL;
    b->k.state = state ? block(b, state) : NULL;
    if (state)
        memset(b->k.state, 0, state);
    run_once(row, b, c, 1);
    if (state)
        run_once(row, b, c, 1);
    for (uint32_t threads = 2; row->tasks && threads <= MAX_TASKS; threads += 3) {
        uint32_t n = row->tasks(&b->k, threads);
        assert_true(n <= threads);
        if (n > 1 && row->counts)
            memset(b->k.scratch, 0, QRN_COUNTER);
        if (n > 1)
            run_once(row, b, c, n);
    }
    if (c->op->family->element_wise) {
        size_t n = qrn_view_count(b->k.out[0]);
        b->k.begin = op_random() % n;
        b->k.end = b->k.begin + 1 + op_random() % (n - b->k.begin);
        run_once(row, b, c, 1);
        b->k.begin = b->k.end = 0;
    }
    while (b->n_owned > kept)
        free(b->owned[--b->n_owned]);
    b->k.scratch = b->k.state = NULL;
}

// Every row that could be selected, on this machine or one that lacks instructions: all up to the
// first that needs none.
static bool run_rows(built *b, const op_case *c, counts *n, size_t *most_work) {
    const qrn_family *f = c->op->family;
    size_t scratch[64] = {0}, work = 0;
    bool selected[64] = {false}, any = false, small = can_run(c, b, &work);
    if (!*most_work)
        *most_work = 2 * work > RUN_WORK ? 2 * work : RUN_WORK;
    assert_true(f->n_rows <= 64);
    bool last = false;
    for (uint32_t i = 0; i < f->n_rows && !last; i++) { // as the compiler asks: without data
        current_row = &f->rows[i];
        selected[i] = !qrn_kernel_rejection(&f->rows[i], c->domain, &b->k, qrn_cpu_isa());
        any |= selected[i];
        last = selected[i] && f->rows[i].needs == 0;
        b->k.n_tasks = f->rows[i].tasks ? MAX_TASKS : 1;
        if (selected[i] && f->rows[i].scratch)
            scratch[i] = f->rows[i].scratch(&b->k);
        b->k.n_tasks = 1;
    }
    if (!any)
        return false;
    if (!small || (work > *most_work && !f->element_wise))
        return true;
    give_data(b, c);
    n->run++;
    for (uint32_t i = 0; i < f->n_rows; i++) {
        current_row = &f->rows[i];
        if (!selected[i] || scratch[i] > 64 * RUN_BYTES)
            continue;
        run_row(&f->rows[i], b, c, scratch[i]);
        n->ran_rows |= (uint64_t)1 << i;
    }
    return true;
}

// Returns why the call was refused. *most_work bounds what is run; 0: it is set from this call.
static const char *try_case(const op_case *c, counts *n, size_t *most_work) {
    static built b;
    const char *why = operands_missing(c);
    current = c;
    current_row = NULL;
    if (!why && build(&b, c)) {
        alarm(SECONDS);
        n->checked++;
        why = c->op->check(&b.k, c->domain);
        if (!why && !run_rows(&b, c, n, most_work))
            why = "no row can be selected";
        alarm(0);
        destroy(&b);
    } else if (!why) {
        destroy(&b);
        why = "too large for the test";
    }
    *(why ? &n->refused : &n->accepted) += 1;
    current = NULL;
    return why;
}

void op_refuse(const qrn_cop *op, const op_seed *seeds, uint32_t n_seeds) {
    static op_case c;
    static built b;
    for (uint32_t i = 0; i < n_seeds; i++) {
        op_case_from_seed(&c, op, &seeds[i]);
        assert_true(op_case_tidy(&c) && build(&b, &c));
        if (!operands_missing(&c) && !op->check(&b.k, c.domain))
            fail_msg("%s, call %u '%s' is accepted", op->name, i, seeds[i].operands);
        destroy(&b);
    }
}

// --- the table of attributes

static uint32_t attr_bytes(const qrn_attr *a) {
    static const uint8_t bytes[] = {[QRN_ATTR_BOOL] = sizeof(bool),
                                    [QRN_ATTR_U8] = 1,
                                    [QRN_ATTR_U32] = 4,
                                    [QRN_ATTR_I32] = 4,
                                    [QRN_ATTR_I64] = 8,
                                    [QRN_ATTR_F32] = 4,
                                    [QRN_ATTR_F64] = 8};
    return bytes[a->kind];
}

// Every byte of the parameter struct belongs to one attribute, or is padding: fewer bytes than the
// next attribute is aligned to.
static void check_attrs(const qrn_cop *op) {
    size_t total = op->family->args_bytes, gap = 0;
    uint8_t *owner = test_calloc(total + 1, 1); // bytes of the attribute that has it
    for (uint32_t i = 0; i < op->n_attrs; i++) {
        const qrn_attr *a = &op->attrs[i];
        for (uint32_t j = 0; j < a->count * attr_bytes(a); j++) {
            size_t at = a->offset + (size_t)(j / attr_bytes(a)) * a->stride + j % attr_bytes(a);
            assert_true(at < total);
            assert_int_equal(owner[at], 0);
            owner[at] = (uint8_t)attr_bytes(a);
        }
    }
    for (size_t at = 0; at < total; at++) {
        size_t aligned = owner[at] < 4 && at % 4 == 0 ? 4 : owner[at]; // a struct may begin here
        if (owner[at] && gap >= aligned)
            fail_msg("%s: bytes %zu to %zu of the attributes are in no table", op->name, at - gap,
                     at - 1);
        gap = owner[at] ? 0 : gap + 1;
    }
    if (gap >= 8)
        fail_msg("%s: the last %zu bytes of the attributes are in no table", op->name, gap);
    test_free(owner);
}

// Rows of this machine that never ran: no seed fits them.
static void report_counts(const qrn_cop *op, const counts *n) {
    print_message("%s: %u checked, %u accepted, %u run, %u refused\n", op->name, n->checked,
                  n->accepted, n->run, n->refused);
    for (uint32_t i = 0; i < op->family->n_rows; i++) {
        const qrn_kernel *row = &op->family->rows[i];
        if ((row->needs & qrn_cpu_isa()) == row->needs && !((n->ran_rows >> i) & 1))
            print_message("    never run: %s\n", row->name);
    }
}

void op_fuzz(const qrn_cop *op, const op_seed *seeds, uint32_t n_seeds, uint32_t rounds) {
    static op_case c;
    counts n = {0};
    const char *times = getenv("QUERN_OP_FUZZ");
    watch();
    assert_non_null(op->check);
    check_attrs(op);
    op_random_seed(op->id);
    size_t most_work[MAX_SEEDS] = {0};
    assert_true(n_seeds <= MAX_SEEDS);
    for (uint32_t i = 0; i < n_seeds; i++) {
        op_case_from_seed(&c, op, &seeds[i]);
        assert_true(op_case_tidy(&c));
        const char *why = try_case(&c, &n, &most_work[i]);
        if (why)
            fail_msg("%s, seed %u '%s' is refused: %s", op->name, i, seeds[i].operands, why);
    }
    uint64_t total = (uint64_t)rounds * (times ? strtoul(times, NULL, 10) : 1);
    for (uint64_t round = 0; round < total; round++) {
        uint32_t i = op_below(n_seeds);
        op_case_from_seed(&c, op, &seeds[i]);
        op_case_mutate(&c);
        if (op_case_tidy(&c))
            try_case(&c, &n, &most_work[i]);
    }
    report_counts(op, &n);
    assert_true(n.refused > 0);
    assert_true(n.run > 0);
}
