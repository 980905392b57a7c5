// SPDX-License-Identifier: MIT
//
// The calibration of quern quantize: samples one by one, with states that are kept between runs.
#ifndef QRN_TOOLS_QUERN_QUANTIZE_CALIBRATE_H
#define QRN_TOOLS_QUERN_QUANTIZE_CALIBRATE_H

#include "quantizer/calibrate.h"
#include "quantizer/state.h"
#include "tools/quern/flags.h"
#include "tools/quern/samples.h"

typedef struct qt_calibration_options {
    const char *only; // state to write instead of a model, or NULL
    qt_list merged;   // states to start from
    bool resume;      // go on where the state of an earlier run ends
    uint64_t n, skip; // samples to use (0: all), and to leave out before them
} qt_calibration_options;

#define QT_CALIBRATION_FLAGS(type, field)                                                          \
    {"samples",                                                                                    \
     'n',                                                                                          \
     QT_COUNT1,                                                                                    \
     "N",                                                                                          \
     offsetof(type, field.n),                                                                      \
     NULL,                                                                                         \
     "number of samples to use (default: all)"},                                                   \
        {"skip",                                                                                   \
         0,                                                                                        \
         QT_COUNT,                                                                                 \
         "N",                                                                                      \
         offsetof(type, field.skip),                                                               \
         NULL,                                                                                     \
         "number of samples to skip first"},                                                       \
        {"resume",                                                                                 \
         0,                                                                                        \
         QT_BOOL,                                                                                  \
         NULL,                                                                                     \
         offsetof(type, field.resume),                                                             \
         NULL,                                                                                     \
         "continue an interrupted calibration"},                                                   \
        {"calibrate-only",                                                                         \
         0,                                                                                        \
         QT_FILE,                                                                                  \
         "STATE",                                                                                  \
         offsetof(type, field.only),                                                               \
         NULL,                                                                                     \
         "write the calibration statistics instead of a model"},                                   \
    {                                                                                              \
        "merge", 0, QT_LIST, "STATE", offsetof(type, field.merged), NULL,                          \
            "use the statistics in this file of --calibrate-only; repeat it for more files, "      \
            "and add samples if you like"                                                          \
    }

typedef struct qt_calibration {
    const qt_calibration_options *opt;
    const char *model;
    qz_graph *graph;
    qz_run *run;
    qt_samples *samples; // none: states alone
    char *state;         // file of the work so far; NULL: not kept
    bool histograms, grams;
    bool quiet; // no warnings: it is run again
} qt_calibration;

// Which of the samples are used; fewer than asked for are a warning, none an error.
int qt_calibration_range(const qt_calibration_options *o, qt_samples *samples);
// Runs the samples and adds states. The file of the work so far is kept when it is stopped.
// QT_EXIT_OK or another code after a message.
int qt_calibrate(const qt_calibration *c);

#endif
