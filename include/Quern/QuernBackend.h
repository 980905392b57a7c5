// SPDX-License-Identifier: MIT
//
// Quern's own options of QnnBackend_create: put a pointer to this struct behind option
// QNN_BACKEND_CONFIG_OPTION_CUSTOM. Backends that are not Quern's do not know it.

#ifndef QUERN_BACKEND_H
#define QUERN_BACKEND_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// First word of the struct, so that other custom structs are told apart ("QRNB").
#define QUERN_BACKEND_CONFIG_MAGIC 0x424e5251u

typedef enum {
    QUERN_BACKEND_OPTION_THREADS = 1 // number of threads of this backend, 1..256
} QuernBackend_Option_t;

typedef struct {
    uint32_t magic;  // QUERN_BACKEND_CONFIG_MAGIC
    uint32_t option; // QuernBackend_Option_t
    uint32_t value;
} QuernBackend_CustomConfig_t;

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_BACKEND_H
