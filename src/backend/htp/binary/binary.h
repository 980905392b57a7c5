// SPDX-License-Identifier: MIT
//
// Context binaries of the HTP backend: saving and loading.
#ifndef QRN_BACKEND_HTP_BINARY_H
#define QRN_BACKEND_HTP_BINARY_H

#include "backend/htp/htp.h"

// save.c: functions of the backend table.
qrn_status qrn_htp_binary_size(qrn_api_context *c, uint64_t *size);
qrn_status qrn_htp_binary_write(qrn_api_context *c, void *buf, uint64_t size, uint64_t *written);
qrn_status qrn_htp_section_size(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                                uint64_t *size);
qrn_status qrn_htp_section_write(qrn_api_context *c, qrn_api_graph *g, uint32_t section, void *buf,
                                 uint64_t size, uint64_t *written);

// base.c: a number that is the same for the same weights that no adapter changes; 0: not known, or
// the graph has nothing to update.
uint64_t qrn_htp_graph_base(const qrn_api_graph *g);

// section.c: the same as save.c.
qrn_status qrn_htp_section_apply(qrn_api_context *c, qrn_api_graph *g, uint32_t section,
                                 const void *buf, uint64_t size);
qrn_status qrn_htp_section_update(const void *buf, uint64_t size, const qrn_tensor_edit *edits,
                                  uint64_t n, bool keep_updatable, void **out, uint64_t *out_size,
                                  qrn_update_times *times);

// load.c: the same as save.c.
qrn_status qrn_htp_binary_load(qrn_api_context *c, const qrn_binary_source *source);
qrn_status qrn_htp_binary_validate(qrn_api_context *c, const void *buf, uint64_t size);
// Gives up what a context keeps of its binary; its graphs must not be used any more.
void qrn_htp_binary_drop(qrn_htp_context *c);

// check.c: may a binary run on a device, and does it use it fully? Which chip a loaded context is
// modelled as: the client's, with the numbers it was made with.
qrn_status qrn_htp_binary_check(const struct qrn_bin *b, const qrn_htp_device *d, bool strict,
                                qrn_htp_device *made_for);

#endif
