// SPDX-License-Identifier: MIT
//
// What a kernel is. Kernels are pure functions on views: no graph, no allocation, no thread, no
// log. A family is an ordered list of kernels, best first, the readable reference last; the
// selector takes the first row whose domain fits, whose ISA the CPU has and whose predicate holds.
//
// Domains. A step runs in one domain; the compiler converts the operands that are of another type:
//   F32  all real operands are float
//   F64  all real operands are double (used for fixed-point, fp16 and mixed operands)
//   I64  all real operands are int64_t (used for plain integers and bool)
//   RAW  operands come as they are; the kernel looks at view->dtype (moves, integer GEMM, ...)
// Reference kernels are written once in an .inc body with `T` as element type and expanded per
// domain.
#ifndef QRN_KERNELS_KERNEL_H
#define QRN_KERNELS_KERNEL_H

#include "base/dtype.h"
#include "base/quant.h"
#include "base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A tensor as kernels see it: dense, row-major, last dimension fastest.
typedef struct qrn_view {
    void *data;
    const qrn_quant *quant; // NULL: plain numbers
    qrn_dtype dtype;
    uint32_t rank;
    uint32_t dims[QRN_MAX_RANK]; // current shape; kernels with data-dependent outputs write it
    uint32_t n_sparse;           // sparse storage: specified elements (0 = dense)
    uint32_t n_sparse_dims;      // sparse storage: indexed outermost dimensions
} qrn_view;

typedef enum qrn_domain {
    QRN_DOMAIN_F32,
    QRN_DOMAIN_F64,
    QRN_DOMAIN_I64,
    QRN_DOMAIN_RAW
} qrn_domain;

// A fused follow-up: runs on parts of out[0] while they are still in a near cache.
typedef struct qrn_follower {
    void (*fn)(const struct qrn_follower *f, size_t begin, size_t end); // elements of out[0]
} qrn_follower;

// One call of a kernel.
typedef struct qrn_kcall {
    const void *args;     // the family's parameter struct; NULL when it has none
    qrn_view *const *in;  // [n_in], NULL entries: absent optional operands
    qrn_view *const *out; // [n_out], NULL entries: absent optional operands
    uint32_t n_in, n_out;
    void *scratch;          // kernel->scratch() bytes, not cleared, shared by all tasks
    void *state;            // kept across executions (cleared at first), or NULL
    uint32_t task, n_tasks; // this call does part `task` of `n_tasks`
    size_t begin, end;      // element-wise families: of these elements of out[0]; 0, 0: of all
    const qrn_follower *follower; // (optional) families that report: see qrn_report
} qrn_kcall;

// Returns QRN_OK; a data error found while running (index out of range) is QRN_E_ARGUMENT, and
// QRN_E_BLOCKED means that the outputs hold nothing yet (Buffer).
typedef qrn_status (*qrn_kernel_fn)(const qrn_kcall *k);

typedef struct qrn_kernel {
    const char *name; // "softmax_f32_ref"
    qrn_domain domain;
    uint32_t needs; // ISA bits of base/cpu.h; 0 = any CPU
    qrn_kernel_fn fn;
    bool (*works)(const qrn_kcall *k); // (optional) NULL: always. Shapes are the largest ones
    uint32_t (*tasks)(const qrn_kcall *k,
                      uint32_t n_threads); // (optional) NULL: 1 task. The result
                                           // must not depend on the number of tasks
    size_t (*scratch)(const qrn_kcall *k); // (optional) NULL: none; asked at the largest shapes,
                                           // with n_tasks = the most tasks a call can be cut into
    // The first QRN_COUNTER bytes of scratch are 0 when a call of several tasks begins: for
    // counting those that are done, so that the last one can join their results.
    bool counts;
} qrn_kernel;

#define QRN_COUNTER 64

typedef struct qrn_family {
    const char *name;
    const qrn_kernel *rows; // best first, reference last
    uint32_t n_rows;
    size_t args_bytes; // size of the parameter struct (0: none)
    // Inputs, one bit each, in whose memory out[0] may lie when both have equally many elements of
    // one size: every row reads element i of them before it writes element i, and not later.
    uint32_t in_place;
    // Every row keeps to [begin, end) of a call, needs no scratch and cannot fail.
    bool element_wise;
    bool reports;      // every row reports finished elements to the follower of a call
    const char *cause; // why a row returns QRN_E_ARGUMENT, in words; NULL: none does, or for many
} qrn_family;

// First row that can run this call in `domain`; NULL when there is none. `isa` caps the CPU
// features.
const qrn_kernel *qrn_kernel_select(const qrn_family *f, qrn_domain domain, const qrn_kcall *k,
                                    uint32_t isa);
// Why a row cannot run the call; NULL when it can.
const char *qrn_kernel_rejection(const qrn_kernel *row, qrn_domain domain, const qrn_kcall *k,
                                 uint32_t isa);
// Has the family a row for this domain?
static inline bool qrn_family_has(const qrn_family *f, qrn_domain domain) {
    for (uint32_t i = 0; i < f->n_rows; i++)
        if (f->rows[i].domain == domain)
            return true;
    return false;
}

// --- small things every kernel needs

static inline size_t qrn_view_count(const qrn_view *v) {
    size_t n = 1;
    for (uint32_t i = 0; i < v->rank; i++)
        n *= v->dims[i];
    return n;
}
// Product of dims[from..to).
static inline size_t qrn_view_span(const qrn_view *v, uint32_t from, uint32_t to) {
    size_t n = 1;
    for (uint32_t i = from; i < to; i++)
        n *= v->dims[i];
    return n;
}
// Bytes of one element; 4-bit types are moved after conversion to 8 bits, so 1 for them.
static inline size_t qrn_view_elem(const qrn_view *v) {
    return (qrn_dtypes[v->dtype].bits + 7u) / 8u;
}

// Range [begin, end) of `total` items for part `task` of `n_tasks`; parts differ by at most
// `grain`.
static inline void qrn_split(size_t total, size_t grain, uint32_t task, uint32_t n_tasks,
                             size_t *begin, size_t *end) {
    size_t chunks = (total + grain - 1) / grain;
    size_t b = chunks * task / n_tasks * grain, e = chunks * (task + 1) / n_tasks * grain;
    *begin = b < total ? b : total;
    *end = e < total ? e : total;
}

// The elements of out[0] that a call of an element-wise kernel computes.
static inline void qrn_elements(const qrn_kcall *k, size_t grain, size_t *begin, size_t *end) {
    size_t from = k->end ? k->begin : 0;
    size_t total = k->end ? k->end - k->begin : qrn_view_count(k->out[0]);
    qrn_split(total, grain, k->task, k->n_tasks, begin, end);
    *begin += from;
    *end += from;
}

// Elements [begin, end) of out[0] are final. Every element is reported once, by the task that wrote
// it, and not touched afterwards.
static inline void qrn_report(const qrn_kcall *k, size_t begin, size_t end) {
    if (k->follower && begin < end)
        k->follower->fn(k->follower, begin, end);
}

// Integer at position i of an index-like operand of any integer, bool, fixed-point (the quantized
// value) or float type.
int64_t qrn_view_int(const qrn_view *v, size_t i);
// Real value at position i of an operand of any type (dequantized).
double qrn_view_real(const qrn_view *v, size_t i);

#define QRN_FAMILY_(fam, bytes, ...)                                                               \
    const qrn_family qrn_family_##fam = {.name = #fam,                                             \
                                         .rows = fam##_rows,                                       \
                                         .n_rows = sizeof(fam##_rows) / sizeof(fam##_rows[0]),     \
                                         .args_bytes = bytes,                                      \
                                         __VA_ARGS__}
#define QRN_FAMILY(fam, args) QRN_FAMILY_(fam, args, .in_place = 0)
#define QRN_FAMILY_ELEMENT_WISE(fam, args, inputs)                                                 \
    QRN_FAMILY_(fam, args, .in_place = inputs, .element_wise = true)
#define QRN_FAMILY_REPORTS(fam, args) QRN_FAMILY_(fam, args, .reports = true)
#define QRN_FAMILY_FAILS(fam, args, words) QRN_FAMILY_(fam, args, .cause = words)
#define QRN_BAD_INDEX "an index is outside of the dimension that it names"

// Before a loop over elements that may run in place: its rounds are independent. Without it some
// compilers take a slow way when input and output are the same.
#ifdef __clang__
#define QRN_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define QRN_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
