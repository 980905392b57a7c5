// SPDX-License-Identifier: MIT
//
// What the options of quern compile say together.
#include "tools/quern/compile.h"
#include "tools/quern/dlc.h"
#include "tools/quern/report.h"
#include "tools/quern/soc.h"

#include "base/soc.h"

#include <string.h>
#include <strings.h>

static bool named_dlc(const qt_compile_options *o) {
    size_t n = o->output ? strlen(o->output) : 0;
    return n > 4 && strcmp(o->output + n - 4, ".dlc") == 0;
}

// A DLC file by the end of its name, or whatever the IR library writes.
bool qt_compile_to_dlc(const qt_compile_options *o) {
    return o->backend.backend ? strcmp(o->backend.backend, "ir") == 0 ||
                                    strstr(o->backend.backend, "libQnnIr") != NULL
                              : named_dlc(o);
}

bool qt_compile_to_htp(const qt_compile_options *o) {
    if (qt_compile_to_dlc(o))
        return false;
    return !o->backend.backend || strcmp(o->backend.backend, "htp") == 0 ||
           strstr(o->backend.backend, "Htp");
}

// What the target has of VTCM and of cores, where it is known.
static int check_room(const qt_compile_options *o) {
    uint32_t model = 0;
    const qrn_soc *soc =
        o->backend.soc && qt_soc_find(o->backend.soc, &model) ? qrn_soc_by_id(model) : NULL;
    const struct {
        const char *flag, *what;
        uint64_t asked, most;
    } rows[] = {{"vtcm-mb", "MB of VTCM", o->vtcm_mb, soc ? soc->vtcm_mb : 0},
                {"hvx-threads", "vector threads", o->hvx_threads, soc ? soc->hvx : 0},
                {"cores", "NPU cores", o->cores, soc ? soc->cores : 0}};
    for (size_t i = 0; soc && i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].asked > rows[i].most) {
            qt_error("--%s %llu: expected at most %llu (%s of %s)", rows[i].flag,
                     (unsigned long long)rows[i].asked, (unsigned long long)rows[i].most,
                     rows[i].what, soc->name);
            return QT_EXIT_USAGE;
        }
    return QT_EXIT_OK;
}

// What is written, and for whom.
static int check_target(const qt_compile_options *o) {
    if (!o->output) {
        qt_error("no output: use --output FILE");
        return QT_EXIT_USAGE;
    }
    static const char *const others[] = {".onnx", ".tflite", ".pte", ".gguf", NULL};
    if (qt_check_ending(o->output, others,
                        "a context binary (.bin) or a DLC file (.dlc); 'quern wrap' makes a model "
                        "of a context binary") != QT_EXIT_OK)
        return QT_EXIT_USAGE;
    if (named_dlc(o) && !qt_compile_to_dlc(o)) {
        qt_error("--output %s: a DLC file is not compiled for a backend; leave out --backend %s, "
                 "or name a .bin file",
                 o->output, o->backend.backend);
        return QT_EXIT_USAGE;
    }
    if (o->backend.backend && strcmp(o->backend.backend, "cpu") == 0) {
        qt_error("--backend cpu has no context binaries; expected htp or gpu, or an output that "
                 "ends in .dlc");
        return QT_EXIT_USAGE;
    }
    if (qt_compile_to_htp(o) && (!o->backend.soc || strcasecmp(o->backend.soc, "none") == 0)) {
        qt_error("no target SoC: use --soc SM8650, for example");
        return QT_EXIT_USAGE;
    }
    return QT_EXIT_OK;
}

static int check_flags(const qt_compile_options *o, bool has_dlc) {
    if (o->adapters.n && !o->updatable.n) {
        qt_error("--adapter needs --updatable: the constants that it replaces");
        return QT_EXIT_USAGE;
    }
    const char *precision = o->backend.precision;
    bool asks = o->vtcm_mb || o->level || o->hvx_threads || o->cores || o->dlbc || o->formats;
    if (asks && !qt_compile_to_htp(o)) {
        if (qt_compile_to_dlc(o))
            qt_error("HTP options do not apply to a DLC file: its graphs are compiled later");
        else
            qt_error("HTP options do not apply to --backend %s", o->backend.backend);
        return QT_EXIT_USAGE;
    }
    if ((o->adapters.n || o->updatable.n || o->names.n) && has_dlc) {
        qt_error("--%s does not apply to a DLC file", o->names.n       ? "graph-name"
                                                      : o->updatable.n ? "updatable"
                                                                       : "adapter");
        return QT_EXIT_USAGE;
    }
    if (o->encodings && has_dlc) {
        qt_error("--encodings does not go with a DLC file as the model");
        return QT_EXIT_USAGE;
    }
    if (o->adapters.n && qt_compile_to_dlc(o)) {
        qt_error("--adapter does not go with a DLC file: adapters are for compiled graphs");
        return QT_EXIT_USAGE;
    }
    if (precision && qt_compile_to_htp(o) && strcmp(precision, "fp16") != 0 &&
        strcmp(precision, "fp32") != 0) {
        qt_error("--precision %s is for --backend gpu; the HTP has fp16 and fp32", precision);
        return QT_EXIT_USAGE;
    }
    if (o->level > 3) {
        qt_error("--opt-level %llu: expected 1, 2 or 3", (unsigned long long)o->level);
        return QT_EXIT_USAGE;
    }
    return check_room(o);
}

int qt_compile_usage(const qt_compile_options *o, const qt_list *models) {
    bool has_dlc = false;
    for (size_t i = 0; i < models->n; i++)
        has_dlc |= qt_is_dlc(models->items[i]);
    int code = check_target(o);
    return code == QT_EXIT_OK ? check_flags(o, has_dlc) : code;
}
