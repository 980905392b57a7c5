// SPDX-License-Identifier: MIT
//
// The command line of qnn-accuracy-debugger.
#include "tools/accuracy_debugger/debugger.h"
#include "tools/quern/output.h"
#include "tools/sdk/program.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define AT(field) offsetof(ad_options, field)

static const qt_flag feature_flags[] = {
    {"framework_diagnosis", 0, QT_BOOL, NULL, AT(diagnosis), NULL,
     "write all values of the model, in float on the CPU"},
    {"inference_engine", 0, QT_BOOL, NULL, AT(engine), NULL,
     "write all values of the model on a backend"},
    {"verification", 0, QT_BOOL, NULL, AT(verification), NULL, "compare two folders of values"},
    {"compare_encodings", 0, QT_BOOL, NULL, AT(encodings), NULL,
     "rejected: 'quern show --all' prints the encodings of a DLC file"},
    {"tensor_inspection", 0, QT_BOOL, NULL, AT(inspection), NULL,
     "rejected: use --verification, or 'quern compare' on folders of QUERN_DUMP"},
    {"quant_checker", 0, QT_BOOL, NULL, AT(quant_checker), NULL,
     "rejected: 'quern quantize' reports what each scheme loses"},
    {"working_dir", 'w', QT_DIR, "DIR", AT(working_dir), NULL,
     "folder for the folders of the features (working_directory)"},
    {"output_dirname", 0, QT_TEXT, "NAME", AT(dirname), NULL,
     "name of the output folder (default: the time)"},
    {"verbose", 'v', QT_BOOL, NULL, AT(verbose), NULL, "accepted, changes nothing"},
    QS_COMMON_FLAGS(ad_options),
    {0},
};
static const qt_flag model_flags[] = {
    {"framework", 'f', QT_CHOICE, "NAME", AT(framework), "onnx", "framework of the model"},
    {"model_path", 'm', QT_FILE, "FILE", AT(model), NULL, "ONNX model"},
    {"input_tensor", 'i', QT_LIST, "NAME DIMS FILE [TYPE]", AT(inputs), NULL,
     "raw file of an input, of the input's type"},
    {"output_tensor", 'o', QT_LIST, "NAME", AT(outputs), NULL, "accepted: all outputs are written"},
    {"add_layer_outputs", 0, QT_TEXT, "NAME,..", AT(add_outputs), NULL, "values that are written"},
    {"add_layer_types", 0, QT_TEXT, "OP,..", AT(add_types), NULL, "ops whose results are written"},
    {"skip_layer_outputs", 0, QT_TEXT, "NAME,..", AT(skip_outputs), NULL,
     "values that are not written"},
    {"skip_layer_types", 0, QT_TEXT, "OP,..", AT(skip_types), NULL,
     "ops whose results are not written"},
    {0},
};
static const qt_flag engine_flags[] = {
    {"runtime", 'r', QT_CHOICE, "NAME", AT(runtime), "cpu|gpu|htp", "backend (htp)"},
    {"architecture", 'a', QT_CHOICE, "NAME", AT(architecture), "x86_64-linux-clang",
     "machine that runs the model (this one)"},
    {"soc", 0, QT_TEXT, "SOC", AT(soc), NULL, "target SoC of the HTP (SM8650; Quern's own)"},
    {"input_list", 'l', QT_FILE, "FILE", AT(input_list), NULL,
     "list of raw files, with one set of inputs per line"},
    {"stage", 0, QT_CHOICE, "NAME", AT(stage), "source", "form of the model"},
    {"act_bitwidth", 0, QT_CHOICE, "N", AT(act_bits), "8|16",
     "quantize the model first, calibrated with the input list; bits of activations"},
    {"weights_bitwidth", 0, QT_CHOICE, "N", AT(weight_bits), "4|8|16",
     "quantize the model first; bits of weights"},
    {"act_quantizer", 0, QT_CHOICE, "NAME", AT(quantizer), "tf|enhanced",
     "how ranges are chosen from the samples"},
    {"debug_mode_off", 0, QT_BOOL, NULL, AT(outputs_only), NULL, "write only the outputs"},
    {"offline_prepare", 0, QT_BOOL, NULL, AT(offline), NULL, "accepted, changes nothing"},
    {0},
};
static const qt_flag verify_flags[] = {
    {"default_verifier", 0, QT_LIST, "NAME[,PARAM,VALUE]..", AT(verifiers), NULL,
     "RtolAtol, TopK, L1Error, CosineSimilarity, MSE, MAE, SQNR (the default), ScaledDiff"},
    {"verifier_config", 0, QT_FILE, "FILE", AT(config), NULL,
     "JSON with parameters and tensors of verifiers"},
    {"golden_output_reference_directory", 0, QT_DIR, "DIR", AT(golden), NULL,
     "values of the model"},
    {"inference_results", 0, QT_DIR, "DIR", AT(results), NULL, "values to compare with them"},
    {0},
};

static int refuse(const ad_options *o) {
    if (o->diagnosis + o->engine + o->verification > 1) {
        qt_error("at most one of --framework_diagnosis, --inference_engine and --verification");
        return QT_EXIT_USAGE;
    }
    bool only_verifies = o->verification, runs = !only_verifies;
    const char *missing = runs && !o->model                                   ? "model_path"
                          : runs && !o->inputs.n && !o->input_list            ? "input_tensor"
                          : (o->act_bits || o->weight_bits) && !o->input_list ? "input_list"
                          : only_verifies && !o->golden  ? "golden_output_reference_directory"
                          : only_verifies && !o->results ? "inference_results"
                                                         : NULL;
    if (missing) {
        qt_error("--%s is needed", missing);
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

// Without a feature: all three, one after the other.
static int run_three(const ad_options *o) {
    char golden[PATH_MAX - 16], results[PATH_MAX - 16], first[2][PATH_MAX];
    int code = ad_diagnose(o, golden, sizeof golden);
    if (code == QT_EXIT_OK)
        code = ad_infer(o, results, sizeof results);
    if (code != QT_EXIT_OK)
        return code;
    snprintf(first[0], PATH_MAX, "%s%s", golden, o->input_list ? "/Result_0" : "");
    snprintf(first[1], PATH_MAX, "%s/Result_0", results);
    return ad_verify(o, first[0], first[1]);
}

static int run(const void *options, const qt_list *args) {
    const ad_options *o = options;
    char path[PATH_MAX - 16];
    (void)args;
    int code = refuse(o);
    if (code != QT_EXIT_OK)
        return code;
    code = o->diagnosis      ? ad_diagnose(o, path, sizeof path)
           : o->engine       ? ad_infer(o, path, sizeof path)
           : o->verification ? ad_verify(o, o->golden, o->results)
                             : run_three(o);
    return code == QT_EXIT_OK ? qt_close_stdout() : code;
}

static const qt_command command = {
    .name = "qnn-accuracy-debugger",
    .summary = "where a model loses accuracy on a backend",
    .args = "[FEATURE] -m FILE -i NAME DIMS FILE [OPTIONS]",
    .alone = true,
    .about = "Writes every value of a model as float32 files, in float on the CPU and on a "
             "backend, and compares the two. Without a feature all three are done in order.\n"
             "Files have the layout of the model.",
    .groups = {{"features", feature_flags},
               {"model", model_flags},
               {"inference engine", engine_flags},
               {"verification", verify_flags}},
    .examples = {{"qnn-accuracy-debugger -m net.onnx -l list.txt --act_bitwidth 8",
                  "A model against its quantized form on the HTP."}},
    .options_size = sizeof(ad_options),
    .run = run,
};

const qt_command *const qt_commands[] = {&command, NULL};

typedef struct words {
    char **list, **made; // words of the command line; those of them that are to be freed
    int n, n_made;
} words;

// -i NAME DIMS FILE [TYPE]: up to four words become one.
static void join_words(int argc, char **argv, words *w) {
    for (int i = 0; i < argc; i++) {
        w->list[w->n++] = argv[i];
        if (strcmp(argv[i], "-i") != 0 && strcmp(argv[i], "--input_tensor") != 0)
            continue;
        size_t size = 1;
        int last = i;
        while (last + 1 < argc && last < i + 4 && argv[last + 1][0] != '-')
            size += strlen(argv[++last]) + 1;
        char *text = last > i ? calloc(1, size) : NULL;
        for (int k = i + 1; text && k <= last; k++) {
            strcat(text, k > i + 1 ? "\037" : "");
            strcat(text, argv[k]);
        }
        if (text) {
            w->list[w->n++] = w->made[w->n_made++] = text;
            i = last;
        }
    }
}

int main(int argc, char **argv) {
    words w = {.list = calloc((size_t)argc + 1, sizeof(char *)),
               .made = calloc((size_t)argc + 1, sizeof(char *))};
    int code = QT_EXIT_FAILURE;
    if (w.list && w.made) {
        join_words(argc, argv, &w);
        code = qs_program(&command, NULL, w.n, w.list);
    } else {
        qt_set_program(command.name);
        qt_error("out of memory");
    }
    for (int i = 0; i < w.n_made; i++)
        free(w.made[i]);
    free(w.list);
    free(w.made);
    return code;
}
