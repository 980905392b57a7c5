// SPDX-License-Identifier: MIT
//
// Where a model's inputs come from: a folder, files, a list of files for many runs, or random
// numbers. Shapes that the model leaves open are settled by what is given.
#ifndef QRN_TOOLS_QUERN_INPUTS_H
#define QRN_TOOLS_QUERN_INPUTS_H

#include "frontend/onnx/import.h"
#include "tools/quern/files.h"
#include "tools/quern/flags.h"

// Flags of every command that runs a model; begins at `offset` in the command's options.
typedef struct qt_input_options {
    const char *inputs;     // folder
    const char *input_list; // file
    bool random;
    uint64_t seed;
    bool cast;
    qt_list dims;   // NAME=N or INPUT.AXIS=N
    qt_list shapes; // INPUT=N,N,...
    const char *mean, *std, *layout, *fit;
    double largest;
    bool bgr;
    const char *graph; // of a context binary
    bool native;
} qt_input_options;

// clang-format off
#define QT_DIM_FLAG(T, m) \
    {"dim", 'd', QT_LIST, "NAME=N", offsetof(T, m.dims), NULL, \
     "size of a dynamic dimension; unnamed: INPUT.AXIS=N"}, \
    {"shape", 0, QT_LIST, "IN=N,N,...", offsetof(T, m.shapes), NULL, "shape of input IN"}
// Rows for a table whose options struct T has a qt_input_options m.
#define QT_INPUT_FLAGS(T, m) \
    {"inputs", 'i', QT_DIR, "DIR", offsetof(T, m.inputs), NULL, \
     "folder: input_0.npy, ... or files named as the inputs"}, \
    {"input-list", 0, QT_FILE, "FILE", offsetof(T, m.input_list), NULL, \
     "file with one run per line: [NAME:=]FILE ..."}, \
    {"random", 'r', QT_BOOL, NULL, offsetof(T, m.random), NULL, \
     "use random data for inputs without a file"}, \
    {"seed", 0, QT_COUNT, "N", offsetof(T, m.seed), NULL, "seed of the random data"}, \
    QT_DIM_FLAG(T, m), \
    {"cast", 0, QT_BOOL, NULL, offsetof(T, m.cast), NULL, "convert inputs of a different type"}, \
    {"graph", 'g', QT_TEXT, "NAME", offsetof(T, m.graph), NULL, \
     "graph of a context binary, or method of a program"}, \
    {"native", 0, QT_BOOL, NULL, offsetof(T, m.native), NULL, \
     "read and write quantized values (context binaries)"}
#define QT_PICTURE_FLAGS(T, m) \
    {"mean", 0, QT_TEXT, "X[,X,X]", offsetof(T, m.mean), NULL, "subtract from pixels"}, \
    {"std", 0, QT_TEXT, "X[,X,X]", offsetof(T, m.std), NULL, "then divide pixels by this"}, \
    {"white", 0, QT_NUMBER, "X", offsetof(T, m.largest), NULL, \
     "value of a white pixel before --mean (default 1)"}, \
    {"layout", 0, QT_CHOICE, "L", offsetof(T, m.layout), "auto|nchw|nhwc", \
     "layout of the model's input"}, \
    {"fit", 0, QT_CHOICE, "HOW", offsetof(T, m.fit), "crop|stretch|none", \
     "how to fit other sizes"}, \
    {"bgr", 0, QT_BOOL, NULL, offsetof(T, m.bgr), NULL, "channel order is BGR"}
// clang-format on

// Where one input of one run comes from: a file, an array of a .npz, or random numbers (neither).
typedef struct qt_source {
    char *path;
    const qt_array *array;
} qt_source;

typedef struct qt_inputs {
    const qt_input_options *opt;
    qt_picture_options picture;
    const ox_info **ports; // the model's inputs that have no initializer
    uint32_t n_ports;
    qt_source *sources; // n_sets rows of n_ports
    size_t n_sets;
    char **selected; // outputs that a list asks for; none: all
    size_t n_selected;
    qt_npz *archives;
    size_t n_archives;
} qt_inputs;

// Finds a source for every input. `files` are further files of the command line, bound in order.
// QT_EXIT_OK or another code after a message.
int qt_inputs_open(const ox_model *m, const qt_input_options *opt, const qt_list *files,
                   size_t first_file, qt_inputs *out);
void qt_inputs_close(qt_inputs *in); // a cleared one is fine

// Sets the sizes of --dim and --shape in the model's inputs.
int qt_set_shapes(const qt_input_options *opt, ox_model *m);
// qt_open_model, with them set.
int qt_open_shaped(const char *path, const qt_input_options *opt, ox_model **out);

// For the completion of --dim: the names of a model's dynamic dimensions, one a line, unless a
// shell would read more than a name in them. Prints nothing for other words of a command line.
void qt_print_dims(const char *word);

// The declared shape: "[N, 3, ?]".
const char *qt_info_shape(const ox_info *p, char *buf, size_t size);

// The arrays of one run, n_ports of them, of the model's types and complete shapes.
qrn_status qt_inputs_load(const qt_inputs *in, size_t set, qt_array *arrays);
// What an import needs to know about them; infos has room for n_ports.
void qt_inputs_shapes(const qt_inputs *in, const qt_array *arrays, ox_info *infos);

// The name with what is not a letter, digit or _ replaced by _, in buf; returns buf.
const char *qt_file_name(const char *name, char *buf, size_t size);

#endif
