// SPDX-License-Identifier: MIT
//
// quern quantize --mixed: a precision for each layer, by what it costs on the target SoC and what
// it loses.
#ifndef QRN_TOOLS_QUERN_QUANTIZE_MIXED_H
#define QRN_TOOLS_QUERN_QUANTIZE_MIXED_H

#include "quantizer/mixed.h"
#include "quantizer/plan.h"
#include "tools/quern/estimate.h"
#include "tools/quern/samples.h"

typedef struct qt_mixed_options {
    bool on;
    const char *schemes; // NULL: a8w8,a16w8,fp16
    const char *front;   // file, or NULL
    const char *command; // prints the score of a model, or NULL
    double budget_ms, min_sqnr, min_score;
    uint64_t samples; // of the comparison; 0: 4
} qt_mixed_options;

#define QT_MIXED_FLAGS(type, field)                                                                \
    {"mixed",                                                                                      \
     0,                                                                                            \
     QT_BOOL,                                                                                      \
     NULL,                                                                                         \
     offsetof(type, field.on),                                                                     \
     NULL,                                                                                         \
     "choose the precision of each layer by accuracy and time"},                                   \
        {"schemes",                                                                                \
         0,                                                                                        \
         QT_TEXT,                                                                                  \
         "S,S",                                                                                    \
         offsetof(type, field.schemes),                                                            \
         NULL,                                                                                     \
         "candidate schemes: a8w8, a16w8, a8w4, a16w4, fp16"},                                     \
        {"budget-ms",                                                                              \
         0,                                                                                        \
         QT_ABOVE0,                                                                                \
         "MS",                                                                                     \
         offsetof(type, field.budget_ms),                                                          \
         NULL,                                                                                     \
         "write the most accurate model with at most this estimated time"},                        \
        {"min-sqnr",                                                                               \
         0,                                                                                        \
         QT_NUMBER,                                                                                \
         "DB",                                                                                     \
         offsetof(type, field.min_sqnr),                                                           \
         NULL,                                                                                     \
         "write the fastest model with at least this SQNR (default 30)"},                          \
        {"score-command",                                                                          \
         0,                                                                                        \
         QT_TEXT,                                                                                  \
         "CMD",                                                                                    \
         offsetof(type, field.command),                                                            \
         NULL,                                                                                     \
         "command that prints the score of a model; {model} is its path"},                         \
        {"min-score",                                                                              \
         0,                                                                                        \
         QT_NUMBER,                                                                                \
         "X",                                                                                      \
         offsetof(type, field.min_score),                                                          \
         NULL,                                                                                     \
         "write the fastest model with at least this score"},                                      \
        {"search-samples",                                                                         \
         0,                                                                                        \
         QT_COUNT1,                                                                                \
         "N",                                                                                      \
         offsetof(type, field.samples),                                                            \
         NULL,                                                                                     \
         "number of samples to evaluate layers with (default 4)"},                                 \
    {                                                                                              \
        "front", 0, QT_FILE, "FILE", offsetof(type, field.front), NULL,                            \
            "write all candidates and layers; .html: a page, otherwise JSON"                       \
    }

typedef struct qt_mixed_task {
    const qt_mixed_options *opt;
    const char *path, *output;
    const ox_model *model;
    qz_graph *graph; // calibrated; values that share encodings are joined
    const qz_scheme *scheme;
    const qt_samples *samples;
    const char *soc;
    uint64_t threads;
    bool quiet; // no table
} qt_mixed_task;

// Contradictions between options. QT_EXIT_OK or QT_EXIT_USAGE after a message.
int qt_mixed_check(const qt_mixed_options *o, size_t n_models, bool samples);
// Leaves the chosen precisions in the graph. QT_EXIT_OK or another code after a message.
int qt_mixed_search(const qt_mixed_task *task);

// --- parts

typedef struct qt_mixed_option {
    const char *name;
    unsigned act_bits, weight_bits; // 0: float
} qt_mixed_option;

// Values of one encoding and the weights of the layers that make them.
typedef struct qt_mixed_group {
    qz_value *first;
    qz_value **weights;
    uint32_t n_weights;
    bool second; // operand of a MatMul: symmetric where it has 16 bits
} qt_mixed_group;

typedef struct qt_mixed_point {
    uint8_t *choice; // [n_groups]
    double ms, sqnr, score;
    bool on_front;
    bool is_tail; // its score is asked for in any case
} qt_mixed_point;

#define QT_MIXED_POINTS 100

typedef struct qt_mixed {
    const qt_mixed_task *task;
    qt_target at;
    qt_mixed_option options[QZ_MIXED_OPTIONS];
    uint32_t n_options, n_groups, n_points, n_samples, n_outputs;
    qt_mixed_group *groups;
    uint32_t finest; // the option that others are compared with
    double finest_noise, finest_ms;
    double *noise, *ms, *turn; // [group][option], as in qz_mixed
    qt_mixed_point points[QT_MIXED_POINTS];
    uint32_t chosen;
    qt_array *inputs, *wanted; // [sample][port], [sample][output]
    size_t first, stride;      // which samples; 0, 0: the first ones
    bool stopped;              // by the user
    qrn_arena *arena;
} qt_mixed;

// The groups of a planned graph (quantize_groups.c).
qrn_status qt_mixed_groups(qt_mixed *x);
// Puts a choice onto the graph.
void qt_mixed_apply(const qt_mixed *x, const uint8_t *choice);

// quantize_trial.c. A choice as a model: its time, and the power of its error relative to the
// results'; both infinite where the HTP does not run it as a whole. noise NULL: not needed.
int qt_mixed_try(const qt_mixed *x, const uint8_t *choice, double *ms, double *noise);
int qt_mixed_score(const qt_mixed *x, const uint8_t *choice, double *score);
int qt_mixed_prepare(qt_mixed *x);  // inputs and results of the float model
void qt_mixed_release(qt_mixed *x); // these, and the arena if there is one
// The power of a model's error relative to the results', on the HTP.
int qt_mixed_noise(const qt_mixed *x, const ox_model *m, double *noise);

// quantize_mixed.c. Measures a choice as a whole and keeps it; one that the HTP does not run, or
// that is there already, is left out.
int qt_mixed_add(qt_mixed *x, const uint8_t *choice);
bool qt_mixed_stopped(void); // by the user
// quantize_tails.c: the results of the last layers in another scheme than the fastest. Right after
// the whole schemes.
int qt_mixed_tails(qt_mixed *x, uint8_t *choice);
// quantize_refine.c: faster points near those of the front.
int qt_mixed_refine(qt_mixed *x, uint8_t *choice);

// quantize_front.c
void qt_mixed_print(const qt_mixed *x);
int qt_mixed_save(const qt_mixed *x);

#endif
