// SPDX-License-Identifier: MIT
//
// Backend extensions of qnn-net-run, qnn-context-binary-generator and qnn-throughput-net-run: a
// library that converts a backend's JSON file to API options and votes for clocks. The entry
// points of the SDK's own extension libraries are not published, so this interface is Quern's; a
// program that loads libQnnHtpNetRunExtensions.so looks it up by name:
//   QuernNetRunExtensions_getInterface()
// Lists are NULL-terminated, belong to the handle and live as long as it does. A handle is used by
// one thread at a time, but begin and end may be called from several.

#ifndef QUERN_NET_RUN_EXTENSIONS_H
#define QUERN_NET_RUN_EXTENSIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "QnnInterface.h"

#ifdef __cplusplus
extern "C" {
#endif

#define QUERN_NET_RUN_EXTENSIONS_VERSION 1u

// An extension with its options.
typedef void *QuernExtension_Handle_t;

// Options of an extension.
typedef struct {
    const char *configFile;  // JSON of the backend; NULL: defaults
    const char *perfProfile; // performance profile, instead of the file's; NULL: the file's
} QuernExtension_Options_t;

// The device that the file requests; 0 if it does not say.
typedef struct {
    uint32_t socModel; // number of the SoC
    uint32_t dspArch;  // 68, 69, ...
    uint32_t deviceId;
    uint32_t profilingLevel; // level of a profile handle, for --profiling_level backend
    bool sharesIoBuffer;     // all inputs and outputs share one registered buffer
    bool hasGroup;           // loaded contexts form a group ...
    uint32_t groupId;        // ... of this number ...
    uint64_t groupSpillFill; // ... with a spill-fill buffer of this many bytes; 0: not set
} QuernExtension_Facts_t;

// The use of a list of context options.
typedef enum {
    QUERN_EXTENSION_CONTEXT_PREPARE = 0, // contextCreate
    QUERN_EXTENSION_CONTEXT_LOAD = 1,    // contextCreateFromBinary, and members of a list
    QUERN_EXTENSION_CONTEXT_LIST = 2     // a list of binaries as a whole
} QuernExtension_ContextKind_t;

// What the program does between begin and end.
typedef enum {
    QUERN_EXTENSION_PHASE_INIT = 0,
    QUERN_EXTENSION_PHASE_EXECUTE = 1,
    QUERN_EXTENSION_PHASE_DEINIT = 2
} QuernExtension_Phase_t;

// The functions. Those that return a code return QNN_SUCCESS, or an error that message() explains.
typedef struct {
    uint32_t version; // QUERN_NET_RUN_EXTENSIONS_VERSION
    Qnn_ErrorHandle_t (*create)(const QuernExtension_Options_t *options,
                                QuernExtension_Handle_t *handle);
    void (*free)(QuernExtension_Handle_t handle); // withdraws votes; NULL is allowed
    // One line about the last failure of the calling thread.
    const char *(*message)(void);
    void (*getFacts)(QuernExtension_Handle_t handle, QuernExtension_Facts_t *facts);
    // NULL: no options.
    const QnnDevice_Config_t **(*getDeviceConfigs)(QuernExtension_Handle_t handle);
    const QnnContext_Config_t **(*getContextConfigs)(QuernExtension_Handle_t handle,
                                                     QuernExtension_ContextKind_t kind);
    const QnnGraph_Config_t **(*getGraphConfigs)(QuernExtension_Handle_t handle,
                                                 const char *graphName);
    // Call it when the device is created: votes need its power infrastructure.
    Qnn_ErrorHandle_t (*attach)(QuernExtension_Handle_t handle, const QNN_INTERFACE_VER_TYPE *qnn);
    // Around each phase: raises and lowers the votes of the performance profile.
    Qnn_ErrorHandle_t (*begin)(QuernExtension_Handle_t handle, QuernExtension_Phase_t phase);
    Qnn_ErrorHandle_t (*end)(QuernExtension_Handle_t handle, QuernExtension_Phase_t phase);
} QuernExtension_Interface_t;

// The function that the library exports; the table is static.
typedef const QuernExtension_Interface_t *(*QuernNetRunExtensions_GetInterfaceFn_t)(void);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QUERN_NET_RUN_EXTENSIONS_H
