// SPDX-License-Identifier: MIT
//
// Devices: which chip is modelled, from custom options and platform infos.
//
// QnnHtpDevice_CustomConfig_t arrives in two layouts: its union lies at byte 8, but clients built
// with headers up to core API 2.33 put it at byte 4 and send 12 bytes. Nothing in the struct says
// which one it is, so it is read word by word, and never beyond byte 12 while the older layout is
// possible.
//
// State of the library: the device that stands for "none", fixed by its first use (QUERN_SOC or a
// global option given before that chooses its chip), and the list of living devices, for what the
// API does not bind to a device handle.
#include "backend/htp/device/device.h"

#include "base/env.h"
#include "base/fork.h"
#include "base/mem.h"
#include "core/services.h"

#include "HTP/QnnHtpDevice.h"
#include "QnnGlobalConfig.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

// What hangs on a device handle: the facts everybody reads, and how they came about.
typedef struct device_impl {
    qrn_htp_device facts; // first: impl pointers are used as qrn_htp_device
    qrn_htp_wish settled; // facts follow from it
    qrn_htp_wish wish;    // of the list that is being read
    qrn_api_log *log;     // of the handle
    struct device_impl *older, *newer;
} device_impl;

static device_impl *newest;
static pthread_mutex_t devices_lock = PTHREAD_MUTEX_INITIALIZER; // guards the list and facts in it
QRN_RENEW_AFTER_FORK(devices_lock);

static atomic_uint global_soc; // 0: not given
static qrn_htp_device fallback;
static pthread_once_t fallback_once = PTHREAD_ONCE_INIT;

// The chip that QUERN_SOC names or numbers; NULL: none, or an unknown one.
static const qrn_soc *soc_of_environment(void) {
    const char *text = qrn_env_get(QRN_ENV_SOC);
    char *end = NULL;
    unsigned long id = text && isdigit((unsigned char)*text) ? strtoul(text, &end, 10) : 0;
    if (end && *end == '\0')
        return id <= UINT32_MAX ? qrn_soc_by_id((uint32_t)id) : NULL;
    return text ? qrn_soc_by_name(text) : NULL;
}

static void make_fallback(void) {
    const qrn_soc *soc = qrn_soc_by_id(atomic_load(&global_soc));
    soc = soc ? soc : soc_of_environment();
    fallback.chosen = soc != NULL;
    fallback.soc = soc ? *soc : *qrn_soc_by_id(QRN_SOC_DEFAULT);
}

static const qrn_htp_device *default_device(void) {
    pthread_once(&fallback_once, make_fallback);
    return &fallback;
}

qrn_status qrn_htp_global_config(const void *config) {
    uint32_t id = (uint32_t)((const QnnGlobalConfig_t *)config)->socModel;
    if (id == (uint32_t)QNN_SOC_MODEL_DYNAMIC_SDM)
        return QRN_OK; // whatever there is: the default
    if (!qrn_soc_by_id(id))
        return QRN_FAIL(QRN_E_CONFIG, "global option SOC_MODEL: unknown SoC number %u", id);
    unsigned none = 0;
    atomic_compare_exchange_strong(&global_soc, &none, id);
    if (default_device()->soc.id != id)
        return QRN_FAIL(
            QRN_E_INCONSISTENT,
            "global option SOC_MODEL=%u comes too late: the library works for %u already", id,
            default_device()->soc.id);
    return QRN_OK;
}

const qrn_htp_device *qrn_htp_device_of(const qrn_api_context *c) {
    const qrn_htp_context *impl = c ? c->impl : NULL;
    if (impl && impl->has_made_for)
        return &impl->made_for;
    return c && c->device && c->device->impl ? c->device->impl : default_device();
}

static void warn_of_bad_rows(qrn_api_log *log) {
    const char *text;
    for (uint32_t i = 0; (text = qrn_soc_warning(i)); i++)
        qrn_log(log, QNN_LOG_LEVEL_WARN, "%s", text);
    text = qrn_env_get(QRN_ENV_SOC);
    if (text && !soc_of_environment())
        qrn_log(log, QNN_LOG_LEVEL_WARN,
                "QUERN_SOC is '%.64s', which is not a known SoC; devices without options are %s. "
                "Use a name such as SM8650, or describe the SoC in a file for QUERN_SOCS",
                text, default_device()->soc.name);
}

qrn_status qrn_htp_device_create(qrn_api_device *d) {
    device_impl *impl = qrn_calloc(sizeof *impl);
    if (!impl)
        return QRN_FAIL(QRN_E_MEM, "out of memory for a device");
    impl->facts = *default_device();
    impl->log = d->log;
    d->impl = impl;
    pthread_mutex_lock(&devices_lock);
    impl->older = newest;
    if (newest)
        newest->newer = impl;
    newest = impl;
    pthread_mutex_unlock(&devices_lock);
    warn_of_bad_rows(d->log);
    return QRN_OK;
}

qrn_status qrn_htp_device_free(qrn_api_device *d) {
    device_impl *impl = d->impl;
    pthread_mutex_lock(&devices_lock);
    if (impl->older)
        impl->older->newer = impl->newer;
    if (impl->newer)
        impl->newer->older = impl->older;
    else
        newest = impl->older;
    pthread_mutex_unlock(&devices_lock);
    qrn_free(impl);
    d->impl = NULL;
    return QRN_OK;
}

qrn_api_log *qrn_htp_newest_device(qrn_htp_device *out) {
    *out = *default_device();
    pthread_mutex_lock(&devices_lock);
    if (newest)
        *out = newest->facts;
    qrn_api_log *log = newest ? qrn_log_hold(newest->log) : NULL;
    pthread_mutex_unlock(&devices_lock);
    return log;
}

static uint32_t word_at(const void *custom, size_t offset) {
    uint32_t word;
    memcpy(&word, (const char *)custom + offset, sizeof word);
    return word;
}

enum { AT_OLDER = 4, AT = 8, AT_SECOND = 12 }; // bytes: the value, or a device id and the value

// Values of a pair (device id, value). The word at 8 is the value in the older layout and the
// device id in today's: architectures are no small numbers, and there is hardly a device but 0.
static uint32_t arch_value(const void *custom) {
    uint32_t word = word_at(custom, AT);
    return word >= QNN_HTP_DEVICE_ARCH_V68 ? word : word_at(custom, AT_SECOND);
}

static bool bool_value(const void *custom) {
    uint32_t word = word_at(custom, AT);
    return ((word ? word : word_at(custom, AT_SECOND)) & 0xFF) != 0; // a bool is one byte
}

qrn_status qrn_htp_device_config(qrn_api_device *d, const void *custom) {
    qrn_htp_wish *w = &((device_impl *)d->impl)->wish;
    uint32_t option = word_at(custom, 0);
    switch (option) {
    case QNN_HTP_DEVICE_CONFIG_OPTION_SOC:
        w->soc_given = true;
        w->soc = word_at(custom, AT);
        w->soc_older = word_at(custom, AT_OLDER);
        return QRN_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_ARCH:
        w->arch = arch_value(custom);
        return QRN_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_SIGNEDPD:
        w->signed_pd = bool_value(custom);
        return QRN_OK;
    case QNN_HTP_DEVICE_CONFIG_OPTION_SECUREPD:
        return QRN_FAIL(QRN_E_UNSUPPORTED,
                        "device option SECUREPD is retired; use SIGNEDPD or leave it out");
    case QNN_HTP_DEVICE_CONFIG_OPTION_ASYNC_EXECUTE:
    case QNN_HTP_DEVICE_CONFIG_OPTION_DYNAMIC_PARTITIONING:
    case QNN_HTP_DEVICE_CONFIG_OPTION_APP_UID:
        return QRN_OK; // nothing here depends on them
    default:
        qrn_log(d->log, QNN_LOG_LEVEL_WARN,
                "device: custom option %u is not known to this version and ignored: leave it out, "
                "or use a newer Quern",
                option);
        return QRN_OK;
    }
}

qrn_status qrn_htp_device_platform(qrn_api_device *d, const void *info) {
    return qrn_htp_wish_platform(&((device_impl *)d->impl)->wish, info);
}

// The chip that was asked for, or NULL. In the layout of today's headers the older place is
// padding, which may hold anything: it counts if the newer place makes no sense, or if a platform
// info confirms it.
static const qrn_soc *wanted_soc(const qrn_htp_wish *w, qrn_api_log *log) {
    const qrn_soc *by_info = w->described ? qrn_soc_by_id(w->info_soc) : NULL;
    if (!w->soc_given)
        return by_info;
    const qrn_soc *soc = qrn_soc_by_id(w->soc), *older = qrn_soc_by_id(w->soc_older);
    if (!soc || (older && older == by_info))
        soc = older;
    if (!soc && by_info)
        qrn_log(log, QNN_LOG_LEVEL_WARN,
                "device option SOC: unknown SoC %u, using %s of the platform info", w->soc,
                by_info->name);
    return soc ? soc : by_info;
}

// Facts without a platform info's figures.
static qrn_status choose(const qrn_htp_wish *w, qrn_api_log *log, qrn_htp_device *out) {
    const qrn_soc *soc = wanted_soc(w, log);
    if (!soc && w->arch)
        soc = qrn_soc_of_arch(w->arch);
    if (!soc && w->described)
        soc = qrn_soc_of_arch(w->info_arch);
    if (soc) {
        out->soc = *soc;
        // A platform info that only repeats the default asks for nothing.
        out->chosen = w->soc_given || w->arch || soc->id != QRN_SOC_DEFAULT || out->chosen;
        return QRN_OK;
    }
    if (w->soc_given)
        return QRN_FAIL(QRN_E_CONFIG,
                        "device option SOC: unknown SoC %u; name its architecture with option "
                        "ARCH, or describe it in a file for QUERN_SOCS",
                        w->soc ? w->soc : w->soc_older);
    if (w->arch)
        return QRN_FAIL(QRN_E_CONFIG,
                        "device option ARCH: unknown architecture %u, allowed 68, 69, 73, 75, 79, "
                        "81, 85, 89",
                        w->arch);
    return QRN_OK;
}

// HTP-DEV-09 says that these cores have less; how much less is an assumption.
static void narrow_to_hpass(qrn_htp_device *d, bool vtcm_is_said) {
    d->hpass = true;
    d->soc.fp16 = false;
    d->soc.hvx = d->soc.hvx > 1 ? d->soc.hvx / 2 : 1;
    if (!vtcm_is_said && d->soc.vtcm_mb > 1)
        d->soc.vtcm_mb /= 2;
}

// Facts for a wish: chip and architecture, narrowed by a platform info. Changes *out on success
// only. Contradictions that the API forgives are logged.
static qrn_status wish_facts(const qrn_htp_wish *w, qrn_api_log *log, qrn_htp_device *out) {
    qrn_htp_device d = *default_device();
    QRN_TRY(choose(w, log, &d));
    d.signed_pd = w->signed_pd;
    bool about_it = w->described && (!w->info_soc || !d.soc.id || w->info_soc == d.soc.id);
    if (about_it) {
        d.soc.vtcm_mb = w->info_vtcm_mb ? w->info_vtcm_mb : d.soc.vtcm_mb;
        d.soc.signed_pd = w->info_signed_pd;
        d.soc.dlbc = d.soc.dlbc && w->info_dlbc;
    } else if (w->described) {
        qrn_log(log, QNN_LOG_LEVEL_WARN,
                "device: the platform info names SoC %u, the device is %s; its figures are "
                "ignored",
                w->info_soc, d.soc.name);
    }
    if (!w->described && w->n_cores > d.soc.cores)
        return QRN_FAIL(QRN_E_CONFIG, "platform info: %u cores, %s has %u", w->n_cores, d.soc.name,
                        d.soc.cores);
    if (w->n_cores)
        d.soc.cores = w->n_cores;
    if (w->hpass)
        narrow_to_hpass(&d, about_it && w->info_vtcm_mb);
    *out = d;
    return QRN_OK;
}

qrn_status qrn_htp_device_settle(qrn_api_device *d, bool list_is_good) {
    device_impl *impl = d->impl;
    qrn_htp_device facts;
    qrn_status s = list_is_good ? wish_facts(&impl->wish, d->log, &facts) : QRN_OK;
    if (!list_is_good || s != QRN_OK) {
        impl->wish = impl->settled;
        return s;
    }
    impl->settled = impl->wish;
    pthread_mutex_lock(&devices_lock);
    impl->facts = facts;
    pthread_mutex_unlock(&devices_lock);
    return QRN_OK;
}
