// SPDX-License-Identifier: MIT
//
// Files of profile events: JSON, one line a message. The first line says who wrote the file, each
// further one is a call with its events (profile_text.c, docs/system.md). A file that such a line
// begins is continued, since clients open a target anew for every call; any other is replaced.
#include "system/system.h"

#include "base/mem.h"
#include "base/outfile.h"
#include "base/report_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAD "{\"quern_profile_log\": 1"

typedef struct target {
    pthread_mutex_t lock;
    int fd;
    char *path;         // for messages
    uint64_t n_left;    // messages that may still be written
    bool head_is_there; // the file is continued
} target;

static void target_free(target *t) {
    if (t->fd >= 0)
        close(t->fd);
    pthread_mutex_destroy(&t->lock);
    qrn_free(t->path);
    qrn_free(t);
}

static char *path_of(const QnnSystemProfile_SerializationTargetFile_t *f) {
    const char *dir = f->fileDirectory && *f->fileDirectory ? f->fileDirectory : ".";
    size_t room = strlen(dir) + strlen(f->fileName) + 2;
    char *path = qrn_alloc(room);
    if (path)
        snprintf(path, room, "%s/%s", dir, f->fileName);
    return path;
}

static qrn_status cannot_write(const target *t, int error) {
    return QRN_FAIL(QRN_E_ARGUMENT, "profile log '%s' cannot be written: %s", t->path,
                    strerror(error));
}

// Opens the file at its end if it is one of ours or empty; any other is replaced.
static qrn_status open_file(target *t) {
    char start[sizeof HEAD - 1];
    struct stat st;
    t->fd = qrn_outfile_open_append(t->path);
    if (t->fd < 0)
        return cannot_write(t, errno);
    ssize_t n = pread(t->fd, start, sizeof start, 0);
    t->head_is_there = n == (ssize_t)sizeof start && memcmp(start, HEAD, sizeof start) == 0;
    if (t->head_is_there || fstat(t->fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
        return QRN_OK;
    close(t->fd);
    t->fd = -1;
    if (qrn_outfile_save(t->path, "", 0) != QRN_OK)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile log: %s", qrn_message());
    t->fd = qrn_outfile_open_append(t->path);
    return t->fd < 0 ? cannot_write(t, errno) : QRN_OK;
}

typedef struct target_options {
    QnnSystemProfile_SerializationFileHeader_t header;
    uint64_t max_messages;
} target_options;

static qrn_status read_options(const QnnSystemProfile_SerializationTargetConfig_t *configs,
                               uint32_t n, target_options *out) {
    *out = (target_options){.max_messages = UINT64_MAX};
    if (n && !configs)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile target: %u options, but the list is NULL", n);
    for (uint32_t i = 0; i < n; i++) {
        switch (configs[i].type) {
        case QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_MAX_NUM_MESSAGES:
            out->max_messages = configs[i].maxNumMessages;
            break;
        case QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_CONFIG_SERIALIZATION_HEADER:
            out->header = configs[i].serializationHeader;
            break;
        default:
            return QRN_FAIL(QRN_E_ARGUMENT, "profile target: unknown option %d, known are 0 and 1",
                            (int)configs[i].type);
        }
    }
    return QRN_OK;
}

static qrn_status write_head(target *t, const QnnSystemProfile_SerializationFileHeader_t *h) {
    if (t->head_is_there)
        return QRN_OK;
    char *text = NULL;
    size_t bytes = 0;
    FILE *f = open_memstream(&text, &bytes);
    if (!f)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a profile target");
    fputs(HEAD ", \"app\": ", f);
    qrn_json_text(f, h->appName);
    fputs(", \"app_version\": ", f);
    qrn_json_text(f, h->appVersion);
    fputs(", \"backend_version\": ", f);
    qrn_json_text(f, h->backendVersion);
    fputs("}\n", f);
    bool made = !ferror(f);
    made = fclose(f) == 0 && made;
    int error = made ? qrn_outfile_append(t->fd, text, bytes) : ENOMEM;
    free(text);
    return error ? cannot_write(t, error) : QRN_OK;
}

static qrn_status start(target *t, const QnnSystemProfile_SerializationTarget_t *info,
                        const target_options *opt, void **handle) {
    t->n_left = opt->max_messages;
    t->path = path_of(&info->file);
    if (!t->path)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a profile target");
    QRN_TRY(open_file(t));
    QRN_TRY(write_head(t, &opt->header));
    *handle = qrn_handle_new(QRN_KIND_SYSTEM_TARGET, t);
    return *handle ? QRN_OK : QRN_FAIL(QRN_E_MEM, "out of memory for a profile target");
}

static qrn_status create(const QnnSystemProfile_SerializationTarget_t *info,
                         const QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t n,
                         QnnSystemProfile_SerializationTargetHandle_t *out) {
    target_options opt;
    if (!out)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile target: no place for the handle");
    if (info->type != QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile target of kind %d, known is %d (file)",
                        (int)info->type, QNN_SYSTEM_PROFILE_SERIALIZATION_TARGET_FILE);
    if (!info->file.fileName || !*info->file.fileName)
        return QRN_FAIL(QRN_E_ARGUMENT, "profile target: a file without a name");
    QRN_TRY(read_options(configs, n, &opt));
    target *t = qrn_calloc(sizeof *t);
    if (!t)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a profile target");
    t->fd = -1;
    pthread_mutex_init(&t->lock, NULL);
    void *handle = NULL;
    qrn_status s = start(t, info, &opt, &handle);
    if (s == QRN_OK)
        *out = handle;
    else
        target_free(t);
    return s;
}

Qnn_ErrorHandle_t QnnSystemProfile_createSerializationTarget(
    QnnSystemProfile_SerializationTarget_t serializationTargetInfo,
    QnnSystemProfile_SerializationTargetConfig_t *configs, uint32_t numConfigs,
    QnnSystemProfile_SerializationTargetHandle_t *serializationTarget) {
    QRN_API_CALL;
    return qrn_api_end(QRN_COMP_SYSTEM_PROFILE,
                       create(&serializationTargetInfo, configs, numConfigs, serializationTarget),
                       qrn_system_log());
}

// One message; those above the limit are left out.
static qrn_status write_one(target *t, const QnnSystemProfile_ProfileData_t *data) {
    char *text = NULL;
    size_t bytes = 0;
    QRN_TRY(qrn_system_profile_text(data, &text, &bytes));
    pthread_mutex_lock(&t->lock);
    int error = 0;
    if (t->n_left) {
        t->n_left--;
        error = qrn_outfile_append(t->fd, text, bytes);
    }
    pthread_mutex_unlock(&t->lock);
    free(text);
    return error ? cannot_write(t, error) : QRN_OK;
}

static qrn_status serialize(target *t, const QnnSystemProfile_ProfileData_t **data, uint32_t n) {
    if (!t)
        return QRN_FAIL(QRN_E_HANDLE, "serializeEventData: not a profile target");
    if (n && !data)
        return QRN_FAIL(QRN_E_ARGUMENT, "serializeEventData: the list is NULL");
    for (uint32_t i = 0; i < n; i++)
        if (!data[i])
            return QRN_FAIL(QRN_E_ARGUMENT, "serializeEventData: entry %u is NULL", i);
    for (uint32_t i = 0; i < n; i++)
        QRN_TRY(write_one(t, data[i]));
    return QRN_OK;
}

Qnn_ErrorHandle_t QnnSystemProfile_serializeEventData(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget,
    const QnnSystemProfile_ProfileData_t **eventData, uint32_t numEvents) {
    QRN_API_CALL;
    target *t = qrn_pin(QRN_KIND_SYSTEM_TARGET, serializationTarget);
    return qrn_api_end(QRN_COMP_SYSTEM_PROFILE, serialize(t, eventData, numEvents),
                       qrn_system_log());
}

Qnn_ErrorHandle_t QnnSystemProfile_freeSerializationTarget(
    QnnSystemProfile_SerializationTargetHandle_t serializationTarget) {
    QRN_API_CALL;
    target *t = qrn_pin_alone(QRN_KIND_SYSTEM_TARGET, serializationTarget);
    if (!t)
        return qrn_api_end(
            QRN_COMP_SYSTEM_PROFILE,
            QRN_FAIL(QRN_E_HANDLE, "freeSerializationTarget: not a living profile target"),
            qrn_system_log());
    qrn_handle_free(serializationTarget);
    target_free(t);
    return QNN_SUCCESS;
}
