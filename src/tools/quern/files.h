// SPDX-License-Identifier: MIT
//
// Arrays in files: .npy, .npz, .safetensors, pictures. Whatever a file claims, no more memory is
// taken than a small multiple of what it really holds. Messages begin with the file's name.
#ifndef QRN_TOOLS_QUERN_FILES_H
#define QRN_TOOLS_QUERN_FILES_H

#include "tools/quern/array.h"
#include "tools/quern/output.h"

// The error of a file that is not `expected`, e.g. "a .npy file", with what it is if that is known.
qrn_status qt_not_a(const char *path, const char *expected, const void *data, size_t size);

// A .npy file in memory. `name` is for messages.
qrn_status qt_npy_parse(const char *name, const void *data, size_t size, qt_array *out);
qrn_status qt_npy_read(const char *path, qt_array *out);
bool qt_npy_write(const char *path, const qt_array *a); // false after a message on stderr

// A .npz archive: arrays by name, in the order of its directory.
typedef struct qt_npz {
    char **names; // without ".npy"
    qt_array *arrays;
    size_t n;
} qt_npz;
qrn_status qt_npz_read(const char *path, qt_npz *out);
void qt_npz_free(qt_npz *z);
// The same of a .safetensors file (safetensors.c), and of either, by the ending.
qrn_status qt_safetensors_read(const char *path, qt_npz *out);
qrn_status qt_arrays_read(const char *path, qt_npz *out);

// A picture: height x width x channels (1 or 3) bytes, red first.
typedef struct qt_picture {
    uint32_t height, width, channels;
    uint8_t *pixels;
} qt_picture;
bool qt_is_picture(const char *path); // by its ending
// channels 1 or 3 are asked for; the file may hold others.
qrn_status qt_picture_read(const char *path, uint32_t channels, qt_picture *out);

// How a picture becomes an input.
typedef struct qt_picture_options {
    const char *layout; // "auto" or NULL, "nchw", "nhwc"
    const char *fit;    // "crop" or NULL (fill and cut the edges off), "stretch", "none" (refuse)
    double largest;     // value of a white pixel before mean and std; 0: 1
    double mean[4], std[4];
    uint32_t n_mean, n_std; // 0: none; 1: for all channels
    bool bgr;
} qt_picture_options;
// Fills an array of a float type or uint8 whose shape says how large the picture must be (rank 2 to
// 4). `input` names the model's input.
qrn_status qt_picture_load(const char *path, const char *input, const qt_picture_options *opt,
                           qt_array *into);

#endif
