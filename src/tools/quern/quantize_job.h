// SPDX-License-Identifier: MIT
//
// quern quantize on its way: what is asked for, the models, and the files that are written.
#ifndef QRN_TOOLS_QUERN_QUANTIZE_JOB_H
#define QRN_TOOLS_QUERN_QUANTIZE_JOB_H

#include "quantizer/write.h"
#include "tools/quern/quantize_calibrate.h"
#include "tools/quern/quantize_mixed.h"
#include "tools/quern/quantize_overrides.h"
#include "tools/quern/quantize_repair.h"
#include "tools/quern/samples.h"

typedef struct qt_quantize_options {
    qt_input_options in;
    qt_text_options text;
    qt_override_options single;
    qt_calibration_options run;
    qt_mixed_options mixed;
    const char *output, *calibration, *scheme, *activations, *weights, *method, *soc, *repair;
    uint64_t block, threads, state_bits;
    double percentile, float_below;
    bool symmetric, per_tensor, all_integers, float_states, no_check, json, quiet;
} qt_quantize_options;

// One model on its way.
typedef struct qt_quantize_model {
    const char *path;
    char *target;    // file to write
    ox_model *model; // repaired
    qt_repaired repaired;
    qz_graph *graph;
    qz_encodings *given; // of a file, or NULL
    ox_writer bytes;
    qz_written written;
    uint32_t n_parts, n_refused; // on the HTP
} qt_quantize_model;

#define QT_METHODS 4

// What --method auto found.
typedef struct qt_methods {
    struct {
        const char *name;
        double db; // SQNR of the results, mean over outputs and samples
    } tried[QT_METHODS];
    uint32_t n, best;   // n 0: nothing was compared
    uint32_t n_samples; // of the comparison
    bool held_out;      // ... none of which calibration has seen
} qt_methods;

typedef struct qt_quantize_job {
    const qt_quantize_options *opt;
    qz_scheme scheme;
    uint32_t repairs;   // qz_repair bits
    bool choose_method; // by trying them
    qt_methods methods;
    qt_quantize_model *models;
    size_t n;
    // models[0] with a row of logits for each token of a window, in place of the one that its input
    // `last` chooses: it is calibrated and not written. NULL path: models[0] is calibrated itself.
    qt_quantize_model all_rows;
    qt_samples samples;
    qz_encodings *exported; // or NULL
    char *weights_path;     // NULL: constants are in the models
    char *state_path;       // of the calibration so far, NULL: it is not kept
    const char *weights_name;
    char *onnx; // the model that a DLC file is made of; NULL: the output is a model
} qt_quantize_job;

static inline qt_quantize_model *qt_quantize_calibrated(qt_quantize_job *j) {
    return j->all_rows.path ? &j->all_rows : &j->models[0];
}

static inline const char *qt_quantize_soc(const qt_quantize_job *j) {
    return j->opt->soc ? j->opt->soc : "SM8650";
}

// What the options say (quantize_usage.c). QT_EXIT_OK or QT_EXIT_USAGE after a message.
int qt_quantize_usage(const qt_quantize_options *o, size_t n_models);
int qt_quantize_scheme(const qt_quantize_options *o, qz_scheme *scheme);
bool qt_quantize_auto(const qt_quantize_options *o); // --method auto

bool qt_quantize_is_dlc(const char *output); // by the end of its name
// Chooses the names of all files, when the models are open (quantize_write.c).
int qt_quantize_name(qt_quantize_job *j, const qt_list *models);
// Writes the models and asks the HTP about them. QT_EXIT_OK or another code after a message.
int qt_quantize_write(qt_quantize_job *j);
// --method auto: compares the methods and writes the model again if minmax is not the best
// (quantize_method.c). After qt_quantize_write.
int qt_quantize_method(qt_quantize_job *j);
void qt_report_method(const qt_methods *found); // one line
// Makes the DLC file of what was written, if one is asked for.
int qt_quantize_dlc(const qt_quantize_job *j);
// Removes what lies between the model and the DLC file.
void qt_quantize_clean(const qt_quantize_job *j);

#endif
