// SPDX-License-Identifier: MIT
//
// Clients that bring parts of a binary in buffers of their own (createFromBinaryWithCallback). What
// was brought belongs to the context that was made with it and is given back at its end, also when
// it could not be made.
#ifndef QRN_API_PROVIDER_H
#define QRN_API_PROVIDER_H

#include "core/own.h"

// Has the callback a known kind and version, and both functions?
qrn_status qrn_provider_check(const Qnn_ContextBinaryCallback_t *callback);

// One client's callback while a context is made.
typedef struct qrn_provider {
    qrn_api_context *context;
    const Qnn_ContextBinaryCallback_t *callback;
} qrn_provider;

// Asks for bytes [offset, offset + size) of the binary; `provider` is a qrn_provider. Buffers must
// be large enough; DMA buffers must start on a page and have a descriptor of their own each. Fails
// with QRN_E_BINARY.
qrn_status qrn_provider_ask(void *provider, uint64_t offset, uint64_t size, const void **data);

// Gives everything back to the clients.
void qrn_provider_release_all(qrn_api_context *c);

#endif
