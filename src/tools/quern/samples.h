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
    size_t first, n; // that are used for calibration
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

// A text for a language model (samples_text.c): windows of its tokens, at most 32. `model` is the
// path beside which tokenizer.json and config.json lie where they are not given.
typedef struct qt_text_options {
    const char *text, *tokenizer;
    double rope_theta; // 0: config.json says it
} qt_text_options;
int qt_samples_of_text(const ox_model *m, const char *model, const qt_input_options *opt,
                       const qt_text_options *text, qt_samples *out);
// Has the model an input `last` [1] that chooses the token of its logits? qt_text_all_rows makes it
// one of all tokens of `ids`, whose logits then are as many rows; false: no memory.
bool qt_text_one_row(const ox_model *m);
bool qt_text_all_rows(ox_model *m);

// Parts for samples_text.c: without samples; and those of arrays, which are freed or kept.
int qt_samples_begin(const ox_model *m, const qt_input_options *opt, qt_samples *out);
int qt_samples_add(qt_samples *s, const char *path, qt_npz *arrays);

// As many random samples, of those that were opened without data.
int qt_samples_random(qt_samples *s, size_t n);

void qt_samples_close(qt_samples *s); // a cleared one is fine

#endif
