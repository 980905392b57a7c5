// SPDX-License-Identifier: MIT
//
// What the ops of a profile were made from, as a DLC file says it (--dlc).
#ifndef QRN_TOOLS_PROFILE_VIEWER_SOURCES_H
#define QRN_TOOLS_PROFILE_VIEWER_SOURCES_H

#include "tools/profile_viewer/htp_run.h"
#include "tools/quern/dlc_source.h"
#include "tools/quern/profile_log.h"

// QT_EXIT_OK or another code after a message.
int qv_sources_open(const char *path, qt_sources *out);
// Adds names and types to the events of nodes, and to the ops of a schematic; false after a
// message.
bool qv_name_events(const qt_profile *p, const qt_sources *s);
bool qv_name_ops(qrn_arena *a, const qt_schematic *x, const qt_sources *s);
// Names of the model's nodes as names of ops: the first one of the start, the last one of the end.
qv_zoom qv_zoom_of_sources(qv_zoom zoom, const qt_sources *s);

#endif
