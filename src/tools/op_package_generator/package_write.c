// SPDX-License-Identifier: MIT
//
// Writing a package: its files go into a folder beside the final one, which takes the final name
// when all of them are there. A folder that this program did not make is never replaced.
#include "tools/op_package_generator/package_write.h"

#include "base/file.h"
#include "base/report_text.h"
#include "tools/op_package_generator/op_text.h"
#include "tools/quern/output.h"

#include "package_templates.h"

#include <errno.h>
#include <ftw.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct row {
    uint32_t backends; // bits
    bool per_op;       // one for each op; %s is its name
    bool with_cmake;   // only when it is asked for
    const char *path;  // %s in other files: the package's name
    const char *text;
} row;

#define CPU (1u << QG_CPU)
#define GPU (1u << QG_GPU)
#define HTP (1u << QG_HTP)
#define ALL (CPU | GPU | HTP)

static const row rows[] = {
    {ALL, false, false, "Makefile", qg_text_Makefile},
    {ALL, false, false, "include/OpRules.hpp", qg_text_OpRules},
    {CPU, false, true, "CMakeLists.txt", qg_text_CMakeLists},
    {CPU, false, false, "makefiles/Android.mk", qg_text_Android},
    {CPU, false, false, "makefiles/Application.mk", qg_text_Application},
    {CPU, false, false, "src/utils/CpuNode.hpp", qg_text_CpuNode},
    {CPU, false, false, "src/%sInterface.cpp", qg_text_CpuInterface},
    {CPU, true, false, "src/ops/%s.cpp", qg_text_CpuOp},
    {GPU, false, false, "include/GpuNode.hpp", qg_text_GpuNode},
    {GPU, false, false, "src/%sInterface.cpp", qg_text_GpuInterface},
    {GPU, true, false, "src/ops/%s.cpp", qg_text_GpuOp},
    {HTP, false, false, "src/%sInterface.cpp", qg_text_HtpInterface},
    {HTP, true, false, "src/ops/%s.cpp", qg_text_HtpOp},
};

static bool too_long(const char *path) {
    qt_error("%s: the name is too long", path);
    return false;
}

// path = folder/name, where %s in name is `with`.
static bool join(char path[PATH_MAX], const char *folder, const char *name, const char *with) {
    const char *hole = strstr(name, "%s");
    int n = hole ? snprintf(path, PATH_MAX, "%s/%.*s%s%s", folder, (int)(hole - name), name, with,
                            hole + 2)
                 : snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return (n > 0 && n < PATH_MAX) || too_long(folder);
}

static bool make_folder_of(const char *path) {
    char folder[PATH_MAX];
    memcpy(folder, path, strlen(path) + 1);
    *strrchr(folder, '/') = 0;
    return qt_make_dir(folder);
}

static bool write_text(const char *path, const char *text, const qg_package *p, const qg_op *op) {
    qrn_text t = {0};
    FILE *f = qrn_text_open(&t);
    if (f)
        qg_fill(f, text, p, op);
    if (!f || !qrn_text_close(f, &t)) {
        qt_error("out of memory");
        return false;
    }
    bool done = make_folder_of(path) && qt_write_result(path, &(qt_part){t.data, t.n}, 1);
    free(t.data);
    return done;
}

static bool write_row(const row *r, const char *folder, const qg_package *p,
                      const qg_write_options *opt) {
    char path[PATH_MAX];
    for (uint32_t i = 0; i < (r->per_op ? p->n_ops : 1); i++) {
        const qg_op *op = r->per_op ? &p->ops[i] : NULL;
        if (!join(path, folder, r->path, op ? op->name : p->name) ||
            !write_text(path, r->text, p, op))
            return false;
        if (opt->list)
            qt_inform("%s/%s", p->name, path + strlen(folder) + 1);
    }
    return true;
}

static bool copy_config(const char *from, const char *folder) {
    char path[PATH_MAX];
    const char *base = strrchr(from, '/') ? strrchr(from, '/') + 1 : from;
    qrn_file f = {0};
    if (!join(path, folder, "config/%s", base))
        return false;
    if (qrn_file_map(from, &f) != QRN_OK) {
        qt_error("%s", qrn_message());
        return false;
    }
    bool done = make_folder_of(path) && qt_write_result(path, &(qt_part){f.data, f.size}, 1);
    qrn_file_unmap(&f);
    return done;
}

static bool write_all(const char *folder, const qg_package *p, const qg_write_options *opt) {
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        if (rows[i].backends & 1u << p->backend && (!rows[i].with_cmake || opt->cmake) &&
            !write_row(&rows[i], folder, p, opt))
            return false;
    for (uint32_t i = 0; i < p->n_configs; i++)
        if (!copy_config(p->configs[i], folder))
            return false;
    return true;
}

static int remove_entry(const char *path, const struct stat *s, int kind, struct FTW *at) {
    (void)s, (void)kind, (void)at;
    return remove(path);
}

static void remove_tree(const char *path) { nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS); }

// Is the folder one that we made? Its Makefile says so.
static bool is_ours(const char *folder) {
    char path[PATH_MAX];
    qrn_file f = {0};
    static const char mark[] = "Made by qnn-op-package-generator";
    if (!join(path, folder, "Makefile", ""))
        return false;
    if (qrn_file_map(path, &f) != QRN_OK)
        return false;
    bool found = memmem(f.data, f.size, mark, strlen(mark)) != NULL;
    qrn_file_unmap(&f);
    return found;
}

static bool may_write(const char *final, const qg_write_options *opt) {
    struct stat s;
    if (lstat(final, &s) != 0)
        return true;
    if (!opt->force) {
        qt_error("%s: it is there already; --force-generation replaces a package", final);
        return false;
    }
    if (!S_ISDIR(s.st_mode) || !is_ours(final)) {
        qt_error("%s: no package that this program made; it is not replaced", final);
        return false;
    }
    return true;
}

// Gives the complete folder its name. A package that is there goes aside first and comes back when
// that fails.
static bool put_in_place(const char *made, const char *final) {
    char old[PATH_MAX];
    bool there = access(final, F_OK) == 0;
    int n = snprintf(old, sizeof old, "%s.old", made);
    if (n <= 0 || (size_t)n >= sizeof old)
        return too_long(made);
    if ((there && rename(final, old) != 0) || rename(made, final) != 0) {
        qt_error("%s: %s", final, strerror(errno));
        if (there && access(final, F_OK) != 0 && rename(old, final) != 0)
            qt_error("the package that was there is in %s", old);
        return false;
    }
    if (there)
        remove_tree(old);
    return true;
}

bool qg_package_write(const qg_package *p, const qg_write_options *opt) {
    char final[PATH_MAX], made[PATH_MAX];
    if (!join(final, opt->folder, p->name, "") ||
        !join(made, opt->folder, ".%s.part-XXXXXX", p->name) || !qt_make_dir(opt->folder) ||
        !may_write(final, opt))
        return false;
    if (!mkdtemp(made) || chmod(made, 0755) != 0) {
        qt_error("%s: %s", opt->folder, strerror(errno));
        return false;
    }
    bool done = write_all(made, p, opt) && put_in_place(made, final);
    if (!done)
        remove_tree(made);
    return done;
}
