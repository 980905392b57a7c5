// SPDX-License-Identifier: MIT
//
// quern check: advice for rejected nodes.
#ifndef QRN_TOOLS_QUERN_CHECK_FIX_H
#define QRN_TOOLS_QUERN_CHECK_FIX_H

// What to do about a node that is rejected for this reason; NULL: the reason says it, or nothing
// is known.
const char *qt_check_fix(const char *why);

#endif
