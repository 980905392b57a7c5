// SPDX-License-Identifier: MIT
//
// What qnn-profile-viewer writes besides the report of quern profile. All return false, or another
// code than QT_EXIT_OK, after a message.
#ifndef QRN_TOOLS_PROFILE_VIEWER_VIEWER_H
#define QRN_TOOLS_PROFILE_VIEWER_VIEWER_H

#include "tools/quern/profile_sums.h"

// Every call by itself, as the HTP reader prints it.
int qv_print_runs(const qt_profile *p);
// A row an event, in the order of the log.
bool qv_write_table(const qt_profile *p, const char *path);
// A JSON value, which is freed; compressed when asked for or when the name ends in .gz.
bool qv_write_json(json_t *value, const char *path, bool gzip);
// Opaque objects as files in the current folder.
bool qv_extract_objects(const qt_profile *p);

#endif
