// SPDX-License-Identifier: MIT
//
// The command line of qairt-converter.
#ifndef QRN_TOOLS_QAIRT_CONVERTER_QC_OPTIONS_H
#define QRN_TOOLS_QAIRT_CONVERTER_QC_OPTIONS_H

#include "tools/converter/io.h"
#include "tools/sdk/spelling.h"

enum {
#define QV_REJECTED(kind, name, arg, why) QV_REJECTED_##name,
#include "tools/qairt_converter/qc_rejected.def"
#undef QV_REJECTED
    QV_N_REJECTED
};

typedef struct qv_options {
    bool version;
    const char *input, *output, *dry_run, *overrides, *config, *template, *preserve;
    const char *float_bits, *bias_bits, *model_version, *copyright_file, *package, *export_format;
    const char *target, *soc;
    qt_list shapes, outputs, types, layouts, wanted_layouts, output_layouts, wanted_output_layouts;
    qt_list colors, symbols, op_configs, op_libs;
    uint64_t batch;
    bool trace, no_simplifier, sequences, summary, debug;
    const char *rejected_text[QV_N_REJECTED];
    bool rejected[QV_N_REJECTED];
    const char *command; // line, set by main
} qv_options;

extern const qt_flag qv_model_flags[], qv_io_flags[], qv_result_flags[], qv_rejected_flags[];
extern const qs_spelled qv_spelling[];
extern const cv_words qv_words;

// Values that are rejected, and flags that need or exclude others.
int qv_check(const qv_options *o);

#endif
