// SPDX-License-Identifier: MIT
//
// What the checks of quern doctor look at and say.
#ifndef QRN_TOOLS_QUERN_DOCTOR_H
#define QRN_TOOLS_QUERN_DOCTOR_H

#include "tools/quern/gpu.h"
#include "tools/quern/machine.h"

typedef enum qt_grade { QT_GOOD, QT_DOUBTFUL, QT_BAD } qt_grade;

typedef struct qt_finding {
    uint32_t index; // of the line, for checks that have several
    bool more;      // another line follows
    qt_grade grade;
    char text[640];
    char fix[640]; // "" when there is nothing to do
} qt_finding;

// A Python package; version is "" when it is not installed.
typedef struct qt_package {
    const char *name;
    char version[64];
} qt_package;
enum {
    QT_PACKAGE_ORT,
    QT_PACKAGE_ORT_QNN,
    QT_PACKAGE_EXECUTORCH,
    QT_PACKAGE_TORCH,
    QT_PACKAGE_TORCHAO,
    QT_PACKAGE_LITERT,
    QT_PACKAGE_GENAI,
    QT_PACKAGE_OLIVE,
    QT_PACKAGE_SHERPA,
    QT_PACKAGE_APPBUILDER,
    QT_N_PACKAGES
};

typedef struct qt_patient {
    qt_library libs[QT_N_LIBRARIES];
    qt_machine machine;
    qt_gpu gpu;
    const char *client; // that must work, or NULL
    // The folder that is or could be QNN_SDK_ROOT; "" when there is none.
    char sdk[1024];
    const char *sdk_from; // where it comes from, for messages
    char lib_dir[1100];   // of the libraries in it
    const char *python;   // program
    bool has_python;
    qt_package packages[QT_N_PACKAGES];
} qt_patient;

void qt_find(qt_finding *f, qt_grade g, const char *fix, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));

// Whether a backend computes a small graph right.
void qt_self_test(const char *backend, qt_finding *f);

// doctor_gpu.c
void qt_check_opencl(const qt_patient *p, qt_finding *f);
void qt_check_device(const qt_patient *p, qt_finding *f); // one line a device
void qt_check_gpu_result(const qt_patient *p, qt_finding *f);

// doctor_clients.c
void qt_sdk_find(qt_patient *p, const char *wanted); // wanted may be NULL
void qt_packages_read(qt_patient *p, const char *python);
void qt_check_sdk(const qt_patient *p, qt_finding *f);
void qt_check_ort(const qt_patient *p, qt_finding *f);
void qt_check_executorch(const qt_patient *p, qt_finding *f);
void qt_check_litert(const qt_patient *p, qt_finding *f);
void qt_check_genai(const qt_patient *p, qt_finding *f);
void qt_check_olive(const qt_patient *p, qt_finding *f);
void qt_check_mnn(const qt_patient *p, qt_finding *f);
void qt_check_sherpa(const qt_patient *p, qt_finding *f);
void qt_check_appbuilder(const qt_patient *p, qt_finding *f);

#endif
