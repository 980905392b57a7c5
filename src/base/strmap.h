// SPDX-License-Identifier: MIT
//
// Map from strings to pointers: open addressing, grows by doubling. Keys are not copied and must
// outlive the map. Zero-initialised = empty. Not thread-safe; the owner serialises.
#ifndef QRN_BASE_STRMAP_H
#define QRN_BASE_STRMAP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct qrn_strmap_slot {
    const char *key; // NULL: free
    void *value;
    uint64_t hash;
} qrn_strmap_slot;

typedef struct qrn_strmap {
    qrn_strmap_slot *slots;
    uint32_t n, cap; // entries; slots (0 or a power of two)
} qrn_strmap;

// NULL when the key is not there.
void *qrn_strmap_get(const qrn_strmap *m, const char *key);
// Adds or replaces; false when out of memory (the map is unchanged).
bool qrn_strmap_put(qrn_strmap *m, const char *key, void *value);
// Takes a key out; fine when it is not there.
void qrn_strmap_remove(qrn_strmap *m, const char *key);
// Frees the slots; the map is empty afterwards.
void qrn_strmap_clear(qrn_strmap *m);

#endif
