// SPDX-License-Identifier: MIT
//
// A context binary in the JSON that qnn-context-binary-utility writes, for scripts that read it.
#ifndef QRN_TOOLS_QUERN_SHOW_PUBLISHED_H
#define QRN_TOOLS_QUERN_SHOW_PUBLISHED_H

#include "System/QnnSystemContext.h"

#include <jansson.h>

// {"info": {...}, "version": 3}: enumerations by their names, sizes in bytes but vtcmSize, which is
// in MB. NULL: out of memory.
json_t *qt_published_json(const QnnSystemContext_BinaryInfoV3_t *info);

#endif
