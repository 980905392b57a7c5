// SPDX-License-Identifier: MIT
//
// Memory that was given to a client, who brings the pointer back to be freed: texts, descriptions,
// results. A pointer that comes back is ours when it stands here, whatever it points at, and is
// taken out by the one call that frees it.
#ifndef QRN_API_GIVEN_H
#define QRN_API_GIVEN_H

#include <stdbool.h>

typedef enum qrn_given {
    QRN_GIVEN_TEXT = 1, // verbose error message
    QRN_GIVEN_INFO,     // platform info
    QRN_GIVEN_RESULT,   // validation result
    QRN_GIVEN_BUFFER    // section update
} qrn_given;

// Enters a pointer; false when out of memory.
bool qrn_given_add(qrn_given kind, const void *p);
// Takes it out; false when it is not there: foreign, freed or of another kind.
bool qrn_given_take(qrn_given kind, const void *p);

#endif
