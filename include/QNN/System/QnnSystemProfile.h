// SPDX-License-Identifier: MIT
//
// System library: write profile events to a file.

#ifndef QNN_SYSTEM_PROFILE_H
#define QNN_SYSTEM_PROFILE_H

#include <stddef.h>
#include <stdint.h>

#include "QnnProfile.h"
#include "QnnTypes.h"
#include "System/QnnSystemCommon.h"

#ifdef __cplusplus
extern "C" {
#endif

// Errors of the profile component.
typedef enum {
    QNN_SYSTEM_PROFILE_NO_ERROR = 0,                     // done
    QNN_SYSTEM_PROFILE_ERROR_UNSUPPORTED_FEATURE = 1000, // the library does not do this
    QNN_SYSTEM_PROFILE_ERROR_INVALID_HANDLE = 30000,     // not a handle of this component
    QNN_SYSTEM_PROFILE_ERROR_INVALID_ARGUMENT = 30001,   // an argument is wrong
    QNN_SYSTEM_PROFILE_ERROR_MEM_ALLOC = 31000,          // out of memory
} QnnSystemProfile_Error_t;

// A place events are written to.
typedef void *QnnSystemProfile_SerializationTargetHandle_t;

// A file.
typedef struct {
    const char *fileName;      // without a folder
    const char *fileDirectory; // the folder
} QnnSystemProfile_SerializationTargetFile_t;

// Kind of a target.
typedef enum {
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE = 1,
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_UNDEFINED = 0x7FFFFFFF,
} QnnSystemProfile_SerializationTargetType_t;

// A target.
typedef struct {
    QnnSystemProfile_SerializationTargetType_t type; // selects the union member
    union UNNAMED {
        QnnSystemProfile_SerializationTargetFile_t file; // FILE
    };
} QnnSystemProfile_SerializationTarget_t;

// Who wrote the file.
typedef struct {
    const char *appName;        // name of the application
    const char *appVersion;     // its version
    const char *backendVersion; // version of the backend
} QnnSystemProfile_SerializationFileHeader_t;

// Options of a target.
typedef enum {
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_MAX_NUM_MESSAGES = 0,
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER = 1,
    QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_UNDEFINED = 0x7FFFFFFF,
} QnnSystemProfile_SerializationTargetConfigType_t;

// One option.
typedef struct {
    QnnSystemProfile_SerializationTargetConfigType_t type; // selects the union member
    union UNNAMED {
        uint32_t maxNumMessages;                                        // MAX_NUM_MESSAGES
        QnnSystemProfile_SerializationFileHeader_t serializationHeader; // SERIALIZATION_HEADER
    };
} QnnSystemProfile_SerializationTargetConfig_t;

// The call the events belong to.
typedef enum {
    QNN_SYSTEM_PROFILE_METHOD_TYPE_NONE = 0,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE = 1,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE = 2,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_EXECUTE_ASYNC = 3,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_CREATE_FROM_BINARY = 4, // binary cannot be used
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_DEINIT = 5,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_CONTEXT_CREATE = 6,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_COMPOSE_GRAPHS = 7,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_EXECUTE_IPS = 8,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_GRAPH_COMPONENT = 9,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_APP_BACKEND_LIB_LOAD = 10,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_APPLY_BINARY_SECTION = 11,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_FINALIZE = 12,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_GET_BINARY_SIZE = 13,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_GET_BINARY = 14,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_CONTEXT_GET_BINARY_SECTION_SIZE = 15,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_FINALIZE_TENSOR_UPDATES = 16,
    QNN_SYSTEM_PROFILE_METHOD_TYPE_BACKEND_UPDATE_BINARY_SECTION = 17,
} QnnSystemProfile_MethodType_t;

// Whether events are for users.
typedef enum {
    QNN_SYSTEM_PROFILE_VISIBILITY_PUBLIC = 0,  // for users
    QNN_SYSTEM_PROFILE_VISIBILITY_PRIVATE = 1, // for developers of the backend
} QnnSystemProfile_Visibility_t;

// The call the events belong to.
typedef struct {
    uint64_t startTime;                       // when the call began
    uint64_t stopTime;                        // when it ended
    uint64_t startMem;                        // memory in use when it began
    uint64_t stopMem;                         // memory in use when it ended
    QnnSystemProfile_MethodType_t methodType; // which call
    QnnSystemProfile_Visibility_t visibility; // for whom
    const char *graphName;                    // the graph, or NULL
} QnnSystemProfile_HeaderV1_t;

typedef struct QnnSystemProfile_ProfileEventV1_t QnnSystemProfile_ProfileEventV1_t;

// The events of a call.
typedef struct {
    QnnSystemProfile_HeaderV1_t header;                 // the call
    QnnSystemProfile_ProfileEventV1_t *profilingEvents; // its events
    uint32_t numProfilingEvents;                        // length of profilingEvents
} QnnSystemProfile_ProfileDataV1_t;

// Version of QnnSystemProfile_ProfileData_t.
typedef enum {
    QNN_SYSTEM_PROFILE_DATA_VERSION_1 = 1,
    QNN_SYSTEM_PROFILE_DATA_VERSION_UNDEFINED = 0x7FFFFFFF,
} QnnSystemProfile_ProfileDataVersion_t;

// The events of a call, versioned.
typedef struct {
    QnnSystemProfile_ProfileDataVersion_t version; // selects the union member
    union UNNAMED {
        QnnSystemProfile_ProfileDataV1_t v1; // version 1
    };
} QnnSystemProfile_ProfileData_t;

// Kind of an event.
typedef enum {
    QNN_SYSTEM_PROFILE_EVENT_DATA = 0,
    QNN_SYSTEM_PROFILE_EXTENDED_EVENT_DATA = 1,
    QNN_SYSTEM_PROFILE_EVENT_DATA_UNDEFINED = 0x7FFFFFFF,
} QnnSystemProfile_EventDataType_t;

// An event with the events below it.
struct QnnSystemProfile_ProfileEventV1_t {
    QnnSystemProfile_EventDataType_t type; // selects the union member
    union UNNAMED {
        QnnProfile_EventData_t eventData;                 // EVENT_DATA
        QnnProfile_ExtendedEventData_t extendedEventData; // EXTENDED_EVENT_DATA
    };
    QnnSystemProfile_ProfileEventV1_t *profileSubEventData; // events below it
    uint32_t numSubEvents;                                  // length of profileSubEventData
};

// Initial values: everything unset.
// clang-format off
#define QNN_SYSTEM_PROFILE_HEADER_V1_INIT \
    {0, 0, 0, 0, QNN_SYSTEM_PROFILE_METHOD_TYPE_NONE, QNN_SYSTEM_PROFILE_VISIBILITY_PUBLIC, \
    NULL}
#define QNN_SYSTEM_PROFILE_DATA_V1_INIT {QNN_SYSTEM_PROFILE_HEADER_V1_INIT, NULL, 0}
#define QNN_SYSTEM_PROFILE_DATA_INIT \
    {QNN_SYSTEM_PROFILE_DATA_VERSION_UNDEFINED, {QNN_SYSTEM_PROFILE_DATA_V1_INIT}}
#define QNN_SYSTEM_PROFILE_EVENT_V1_INIT \
    {QNN_SYSTEM_PROFILE_EVENT_DATA_UNDEFINED, {QNN_PROFILE_EVENT_DATA_INIT}, NULL, 0}
// clang-format on

// Opens a target.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemProfile_createSerializationTarget(
    QnnSystemProfile_SerializationTarget_t serializationTargetInfo,
    QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t numConfigs,
    QnnSystemProfile_SerializationTargetHandle_t *serializationTarget);

// Writes events.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemProfile_serializeEventData(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget,
    const QnnSystemProfile_ProfileData_t **eventData, uint32_t numEvents);

// Closes the target.
QNN_SYSTEM_API Qnn_ErrorHandle_t QnnSystemProfile_freeSerializationTarget(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget);

#ifdef __cplusplus
} // extern "C"
#endif

#endif // QNN_SYSTEM_PROFILE_H
