// SPDX-License-Identifier: MIT
//
// Shared by the files of the client, and by nobody else.
#ifndef QRN_FRONTEND_CLIENT_INTERNAL_H
#define QRN_FRONTEND_CLIENT_INTERNAL_H

#include "frontend/client/client.h"

#include <stddef.h>

qrn_status qc_no_memory(const char *what);

// The failure right after it: QRN_E_MEM or QRN_E_NOT_FOUND. `searched`: the file that was looked
// for in several places, or NULL.
qrn_status qc_library_failed(const char *what, const char *searched);
// The path of an open library; `name` when the loader does not say.
void qc_library_path(void *lib, const char *name, char *path, size_t size);

// A name that is not yet in `taken`, entered there with `value` (not NULL): `name` itself, or with
// a number behind it. NULL when out of memory.
const char *qc_unique_name(qc_graph *g, qrn_strmap *taken, const char *name, const void *value);

// Copies an encoding with its arrays into the graph's arena. QRN_E_UNSUPPORTED for kinds that no
// front end makes.
qrn_status qc_quant_copy(qc_graph *g, const char *tensor, const Qnn_QuantizeParams_t *src,
                         uint32_t rank, const uint32_t *dims, Qnn_QuantizeParams_t *out);

#endif
