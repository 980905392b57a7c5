// SPDX-License-Identifier: MIT
//
// The part of YAML that the SDK's configuration files are written in: block lists and mappings,
// plain and quoted scalars, comments, lists of scalars in brackets. What is read is a tree as that
// of a JSON file, so that the same tables of keys check it (json_keys.h). Anchors, tags, block
// texts and mappings in braces are failures that name file and line.
#ifndef QRN_TOOLS_SDK_YAML_H
#define QRN_TOOLS_SDK_YAML_H

#include "base/json_read.h"

// Reads a text; a key without a value is left out. `name` is what failures call it. An empty text
// is null.
qrn_status qs_yaml_read(const char *name, const char *text, size_t n, qrn_arena *arena,
                        qrn_json **out);
qrn_status qs_yaml_read_file(const char *path, qrn_arena *arena, qrn_json **out);

#endif
