// SPDX-License-Identifier: MIT
//
// Repairs of quern quantize: what is asked for and what was done.
#ifndef QRN_TOOLS_QUERN_QUANTIZE_REPAIR_H
#define QRN_TOOLS_QUERN_QUANTIZE_REPAIR_H

#include "quantizer/epsilon.h"
#include "quantizer/equalize.h"
#include "quantizer/fold.h"
#include "quantizer/repair.h"
#include "quantizer/write.h"
#include "tools/quern/quantize_calibrate.h"
#include "tools/quern/quantize_overrides.h"

typedef struct qt_repaired {
    ox_model *original; // the model as the file has it
    qz_epsilons epsilons;
    qz_folded folded;
    qz_equalized equalized;
    bool new_graph; // qt_repair_equalize has made another one
} qt_repaired;

// --repair; NULL: what fits the other options. Encodings of files and states of calibrations belong
// to a model that is not scaled. QT_EXIT_OK, or QT_EXIT_USAGE after a message.
int qt_read_repairs(const char *text, const qt_override_options *single,
                    const qt_calibration_options *run, qz_scheme *scheme, uint32_t *repairs);

// The repairs that need no samples; `original` is opened, the caller closes it.
int qt_repair_fold(const char *path, const qt_input_options *in, uint32_t repairs, ox_model *m,
                   qt_repaired *out);
// Those that look at some samples. The graph is made anew where the model changes.
int qt_repair_equalize(const char *path, uint32_t repairs, const qz_scheme *scheme,
                       const qt_samples *samples, ox_model *m, qz_graph **graph, qt_repaired *out);

// One line for each repair that found something to do.
void qt_report_repairs(const qt_repaired *r, const qz_written *w);

#endif
