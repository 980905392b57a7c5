// SPDX-License-Identifier: MIT
//
// A graph of many steps for tests of execution: t0 = x + x, t1 = t0 + x, ... on 8-bit codes with
// offset 0 and equal scales. After n nodes y = min(255, (n + 1) x), by the definition of the codes.
#ifndef QRN_TESTS_HTP_CHAIN_H
#define QRN_TESTS_HTP_CHAIN_H

#include "htp_client.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct chain {
    Qnn_GraphHandle_t graph;
    Qnn_Tensor_t x, y;
    uint32_t dims[2], n_nodes;
} chain;

static inline Qnn_Tensor_t chain_tensor(const htp_table *qnn, chain *c, const char *name,
                                        Qnn_TensorType_t type) {
    Qnn_Tensor_t t = htp_tensor(name, type, QNN_DATATYPE_UFIXED_POINT_8, 2, c->dims);
    htp_encode(&t, 0.1f, 0);
    HTP_OK(qnn->tensorCreateGraphTensor(c->graph, &t));
    return t;
}

static inline void chain_build(const htp_table *qnn, Qnn_ContextHandle_t context, const char *name,
                               const QnnGraph_Config_t **configs, uint32_t rows, uint32_t columns,
                               uint32_t n_nodes, chain *c) {
    *c = (chain){.dims = {rows, columns}, .n_nodes = n_nodes};
    HTP_OK(qnn->graphCreate(context, name, configs, &c->graph));
    c->x = chain_tensor(qnn, c, "x", QNN_TENSOR_TYPE_APP_WRITE);
    Qnn_Tensor_t last = c->x;
    for (uint32_t i = 0; i < n_nodes; i++) {
        char tensor[32], node[32];
        snprintf(tensor, sizeof tensor, "t%u", i);
        snprintf(node, sizeof node, "add%u", i);
        Qnn_Tensor_t next = chain_tensor(
            qnn, c, tensor, i + 1 < n_nodes ? QNN_TENSOR_TYPE_NATIVE : QNN_TENSOR_TYPE_APP_READ);
        Qnn_Tensor_t in[] = {last, c->x};
        HTP_OK(qnn->graphAddNode(c->graph, htp_op(node, "ElementWiseAdd", in, 2, &next, 1)));
        last = next;
    }
    c->y = last;
    c->y.v1.name = "y"; // matched by id; the old name lies on the stack
}

static inline QnnGraph_Config_t chain_priority(Qnn_Priority_t p) {
    return (QnnGraph_Config_t){.option = QNN_GRAPH_CONFIG_OPTION_PRIORITY, .priority = p};
}

static inline uint32_t chain_bytes(const chain *c) { return c->dims[0] * c->dims[1]; }

static inline void chain_fill(uint8_t *x, uint32_t n, uint32_t seed) {
    for (uint32_t i = 0; i < n; i++)
        x[i] = (uint8_t)((i * 7 + seed * 13) % 97);
}

static inline void chain_check(const chain *c, const uint8_t *x, const uint8_t *y, uint32_t n) {
    for (uint32_t i = 0; i < n; i++) {
        uint32_t want = (c->n_nodes + 1) * x[i];
        assert_int_equal(y[i], want > 255 ? 255 : want);
    }
}

#endif
