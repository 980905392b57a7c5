// SPDX-License-Identifier: MIT
//
// An op of a package in a graph; shared by the two files that make it.
#ifndef QRN_BACKEND_GPU_PACKAGE_IMPL_H
#define QRN_BACKEND_GPU_PACKAGE_IMPL_H

#include "backend/gpu/gpu.h"
#include "bind/gpu/user.h"

#include "GPU/QnnGpuOpPackage.h"

typedef struct qrn_gpu_instance {
    struct qrn_gpu_instance *next; // of the graph, newest first
    const qrn_user_op *op;
    qrn_arena *arena;
    const qrn_node *node;
    QnnGpuOpPackage_Node_t given;
    QnnOpPackage_OpImpl_t impl;
    qrn_gpu_user_op made;
} qrn_gpu_instance;

// Reads what the package made (`impl`) into `made`; nothing of it is trusted.
qrn_status qrn_gpu_read_impl(qrn_gpu_instance *in);

#endif
