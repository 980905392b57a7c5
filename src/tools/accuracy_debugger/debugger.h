// SPDX-License-Identifier: MIT
//
// qnn-accuracy-debugger: every value of a model in float, the same on a backend, and the difference
// of the two. Files hold float32 in the layout of the model, NAME.raw.
#ifndef QRN_TOOLS_ACCURACY_DEBUGGER_DEBUGGER_H
#define QRN_TOOLS_ACCURACY_DEBUGGER_DEBUGGER_H

#include "tools/quern/flags.h"

typedef struct ad_options {
    bool version; // first: see tools/sdk/program.h
    bool diagnosis, engine, verification, encodings, inspection, quant_checker;
    const char *framework, *model, *working_dir, *dirname;
    qt_list inputs, outputs;
    const char *add_outputs, *add_types, *skip_outputs, *skip_types;
    const char *runtime, *architecture, *input_list, *stage, *soc;
    const char *act_bits, *weight_bits, *quantizer;
    bool outputs_only, offline;
    qt_list verifiers;
    const char *golden, *results, *config;
    bool verbose;
} ad_options;

// Folder of a feature: WORKING_DIR/FEATURE/TIME, or with the name that was given, which `latest`
// links to. QT_EXIT_OK or another code after a message.
int ad_make_folder(const ad_options *o, const char *feature, char *path, size_t size);

// The features. The first two leave the folder of their values in `path`.
int ad_diagnose(const ad_options *o, char *path, size_t size);
int ad_infer(const ad_options *o, char *path, size_t size);
int ad_verify(const ad_options *o, const char *golden, const char *results);

#endif
