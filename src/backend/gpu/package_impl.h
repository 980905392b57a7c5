// SPDX-License-Identifier: MIT
//
// An op of a package in a graph; shared by the files that make it.
#ifndef QRN_BACKEND_GPU_PACKAGE_IMPL_H
#define QRN_BACKEND_GPU_PACKAGE_IMPL_H

#include "backend/gpu/gpu.h"
#include "bind/gpu/user.h"

#include "GPU/QnnGpuOpPackage.h"

// Where kernels find a tensor or an object: an operand, a result, or a form.
typedef struct qrn_gpu_ref {
    uint8_t kind; // qrn_gpu_user_arg_kind: IN, OUT, FORM
    uint32_t index;
    qrn_gpu_user_form *form;
    const QnnGpu_MemoryObject_t *object; // the form as the package described it; NULL: plain
} qrn_gpu_ref;

// A tensor of the op, or a memory object of it (tensor NULL).
typedef struct qrn_gpu_bound {
    const char *name;
    const qrn_tensor *tensor;
    qrn_gpu_ref ref;
    bool written; // by some kernel
} qrn_gpu_bound;

typedef struct qrn_gpu_instance {
    struct qrn_gpu_instance *next; // of the graph, newest first
    const qrn_package *package;
    qrn_arena *arena;
    const qrn_node *node;         // as the compiler sees it; of a super node the joined one
    const qrn_node *const *nodes; // the client's: one, or those of a super node
    uint32_t n_nodes;
    QnnGpuOpPackage_Node_t given;
    QnnOpPackage_OpImpl_t impl;
    qrn_gpu_user_op made;
    qrn_gpu_bound *bound; // inputs, tensor parameters, results, then what is between the nodes
    uint32_t n_bound, cap_bound;
    qrn_gpu_bound *objects; // [n_objects] the op's memory objects
    uint32_t n_objects, cap_forms;
    const QnnGpu_MemoryObject_t **claims; // [node->n_out] how a result is stored; NULL: plainly
} qrn_gpu_instance;

// Nodes that a package implements as one: behind qrn_node.user_op of the node that stands for them.
typedef struct qrn_gpu_super {
    qrn_user_op op; // first: what user_op of other nodes points to
    uint32_t optimization;
    const qrn_node **nodes;
    uint32_t n_nodes;
} qrn_gpu_super;

// Is the node one that qrn_gpu_super_nodes made?
static inline bool qrn_gpu_is_super(const qrn_node *n) { return !n->op && !n->type[0]; }

qrn_status qrn_gpu_package_reject(const qrn_gpu_instance *in, const char *what);
qrn_status qrn_gpu_package_no_memory(const qrn_gpu_instance *in);

// The i-th tensor parameter of the nodes, in their order; NULL behind the last.
const qrn_tensor *qrn_gpu_param_tensor(const qrn_gpu_instance *in, uint32_t i);

// package_object.c
// Lists the tensors of the op; inputs may arrive in a form that an op of `earlier` claimed.
qrn_status qrn_gpu_bind_tensors(qrn_gpu_instance *in, const qrn_gpu_instance *earlier);
// The claim of the op that makes a tensor; NULL: it is a plain buffer.
const QnnGpu_MemoryObject_t *qrn_gpu_claim_of(const qrn_gpu_instance *earlier, const qrn_tensor *t);
// Reads claims and memory objects of what the package made.
qrn_status qrn_gpu_read_objects(qrn_gpu_instance *in);
qrn_gpu_bound *qrn_gpu_find_tensor(qrn_gpu_instance *in, const qrn_tensor *t); // NULL: none left
// A kernel writes to a tensor: an input becomes a copy.
qrn_status qrn_gpu_write_tensor(qrn_gpu_instance *in, qrn_gpu_bound *b);
// What is to be converted after the kernels; fails where a result is not written.
qrn_status qrn_gpu_read_results(qrn_gpu_instance *in);

// package_impl.c: reads what the package made (`impl`) into `made`; nothing of it is trusted.
qrn_status qrn_gpu_read_impl(qrn_gpu_instance *in);

#endif
