// SPDX-License-Identifier: MIT
//
// Options of graphs.
#ifndef QRN_API_GRAPH_H
#define QRN_API_GRAPH_H

#include "core/graph.h"

// Applies a list of options, all or none (backend options may have been taken when a later one
// fails).
qrn_status qrn_api_graph_configure(qrn_api_graph *g, const QnnGraph_Config_t **config,
                                   qrn_config_phase phase);

#endif
