// SPDX-License-Identifier: MIT
//
// From files to finalized graphs: the context with its options, composing, finalizing, each with
// its line in the profile and the extension's votes around all of it.
#ifndef QRN_TOOLS_SDK_PREPARE_H
#define QRN_TOOLS_SDK_PREPARE_H

#include "tools/sdk/model_source.h"
#include "tools/sdk/profile_writer.h"

// QT_EXIT_OK or another code after a message. The model is to be closed in any case.
int qs_prepare(qc_client *c, const qs_sources *from, const qs_rules *rules,
               const qs_profile *profile, qs_model *out);

#endif
