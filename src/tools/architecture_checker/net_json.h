// SPDX-License-Identifier: MIT
//
// The JSON of a converted model (NAME_net.json, docs/model-libraries.md): tensors and nodes as the
// graph has them. Both forms of a tensor's shape are read: `dims`, and the later `current_dims`.
#ifndef QRN_TOOLS_ARCHITECTURE_CHECKER_NET_JSON_H
#define QRN_TOOLS_ARCHITECTURE_CHECKER_NET_JSON_H

#include "device/device.h"

#include <jansson.h>

typedef struct ac_tensor {
    const char *name;
    uint32_t type, data_type; // numbers of the API
    uint32_t rank, dims[8];
    uint32_t maker; // node; UINT32_MAX: none
    uint32_t value; // of the device model's graph
} ac_tensor;

typedef struct ac_node {
    const char *name, *type;
    const json_t *params[2]; // tensors, scalars; objects or NULL
    uint32_t *in, *out;      // tensors by index
    uint32_t n_in, n_out;
} ac_node;

typedef struct ac_net {
    qrn_arena *arena;
    json_t *top;
    ac_tensor *tensors;
    ac_node *nodes;
    uint32_t n_tensors, n_nodes;
} ac_net;

// QT_EXIT_OK or another code after a message. To be closed after failures, too.
int ac_net_read(const char *path, ac_net *out);
void ac_net_close(ac_net *n);
// The graph for the device model; QRN_E_MEM.
qrn_status ac_net_graph(ac_net *n, qd_graph *out);
bool ac_is_constant(const ac_tensor *t);

#endif
