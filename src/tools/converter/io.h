// SPDX-License-Identifier: MIT
//
// What a user wants of inputs and outputs: another layout, another type, another order of colours.
// Wishes come from flags and from YAML files (io_config.c); they become nodes of the model in
// memory, so that every program that imports it agrees.
#ifndef QRN_TOOLS_CONVERTER_IO_H
#define QRN_TOOLS_CONVERTER_IO_H

#include "tools/converter/edit.h"

#define CV_LAYOUTS "NCDHW NDHWC NCHW NHWC NFC NCF NTF TNF NF NC F HWIO OIHW NONTRIVIAL"

typedef struct cv_io {
    const char *name;
    const char *where;        // for messages: the flag, or the file and the line
    const char *model_layout; // of the model as it is; NULL: not said
    const char *layout;       // wanted; NULL: the model's
    int model_type;           // ox_type that the model is said to have; OX_NONE: not said
    int type;                 // wanted; OX_NONE: the model's
    bool scaled;              // integers mean (q + offset) * scale; else themselves
    bool undefined;           // said so
    float scale;
    int32_t offset;
    const char *color_in, *color_out; // of what comes, and of what the model wants; NULL: not said
    const char *shape;                // wanted: "1,3,224,224"; NULL: the model's
} cv_io;

typedef struct cv_ios {
    cv_io *items;
    uint32_t n, cap;
} cv_ios;

// The entry of a name, made when it is not there; NULL after a message.
cv_io *cv_io_find(cv_ios *list, qrn_arena *a, const char *name, const char *where);
// Adds what a flag "NAME\nVALUE" says; `field` is the offset of a text of cv_io.
int cv_io_flags(const cv_model *m, cv_ios *list, const char *flag, const qt_list *values,
                size_t field);
// The same of "NAME\nIN[\nOUT]"; OUT is bgr unless it is said.
int cv_io_colors(const cv_model *m, cv_ios *list, const char *flag, const qt_list *values);

// Are all names inputs or outputs, and are layouts and types ones of them?
int cv_io_check(const cv_model *m, const cv_ios *list);
// Transposes and reorders colours behind inputs and before outputs.
int cv_io_layouts(cv_model *m, const cv_ios *list);
// Casts and dequantizes behind inputs, and the other way round before outputs.
int cv_io_types(cv_model *m, const cv_ios *list);
// A quantized model whose inputs and outputs are float: the integers themselves come and go, except
// for those of a list of names with QS_PAIR between them (NULL: none, "all": all).
int cv_io_native(cv_model *m, const char *keep);
bool cv_io_is_kept(const char *keep, const char *name); // is the name in such a list?

// Reads a file (io_config.c): entries of `--custom_io`, or with `qairt` the two lists of
// `--config`.
int cv_io_read(const char *path, bool qairt, qrn_arena *a, cv_ios *list);
// Writes a template with the model's own values.
int cv_io_template(const cv_model *m, const char *path, bool qairt);

// An ox_type by the name that files and flags have; OX_NONE: no type of inputs and outputs.
int cv_io_type(const char *name);

#endif
