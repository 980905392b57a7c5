// SPDX-License-Identifier: MIT
//
// What backends that compute on this machine's CPU share: the thread pool and the option that sizes
// it, and what the compiler is told about the machine.
#ifndef QRN_CORE_HOST_H
#define QRN_CORE_HOST_H

#include "core/objects.h"

// Takes a QuernBackend_CustomConfig_t (include/Quern); a struct that is none is ignored with a
// warning.
qrn_status qrn_host_config(qrn_api_backend *b, const void *custom);
// Makes sure that the backend has its thread pool, and fills what depends on the machine into *opt.
qrn_status qrn_host_options(qrn_api_backend *b, qrn_compile_options *opt);
// Gives the pool back; nothing to do when there is none.
void qrn_host_release(qrn_api_backend *b);

#endif
