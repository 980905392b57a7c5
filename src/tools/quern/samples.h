// SPDX-License-Identifier: MIT
//
// Calibration data: many sets of inputs from a file or a folder.
#ifndef QRN_TOOLS_QUERN_SAMPLES_H
#define QRN_TOOLS_QUERN_SAMPLES_H

#include "tools/quern/inputs.h"

// Must not be moved while it is open.
typedef struct qt_samples {
    qt_input_options opt;
    qt_inputs in;                 // qt_inputs_load gives the arrays of a sample
    struct qt_sample_file *files; // arrays of .npy and .npz files, cut into samples
    size_t cap_sets;
} qt_samples;

// `data`:
//   FILE.npz    arrays by input name; with one more leading dimension, or a first dimension that is
//               a multiple of the input's, they are many samples; others are the same in all
//   FILE.npy    the same, for a model of one input
//   a folder    of .npz files, or for a model of one input of .npy, .raw or picture files, one
//               sample each; else one sample, in files named after the inputs
//   other file  an input list, one sample a line
// NULL: random numbers. QT_EXIT_OK or another code after a message.
int qt_samples_open(const ox_model *m, const qt_input_options *opt, const char *data,
                    qt_samples *out);
void qt_samples_close(qt_samples *s); // a cleared one is fine

#endif
