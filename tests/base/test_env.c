// SPDX-License-Identifier: MIT
//
// Environment variables: obeyed by ordinary programs, by none that has more rights than its user.
// The second part needs root, and a file system that honours setuid.
#include "base/env.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

enum { SEES_ALL = 10, SEES_NONE, SEES_SOME, SECURE = 4 }; // exit codes of the child

static const char *const names[] = {
#define X(name, var, text) var,
    QRN_ENV_LIST(X)
#undef X
};

static int child(void) {
    int seen = 0;
    for (int i = 0; i < QRN_ENV_COUNT; i++)
        seen += qrn_env_get((qrn_env)i) != NULL;
    return (seen == QRN_ENV_COUNT ? SEES_ALL
            : seen                ? SEES_SOME
                                  : SEES_NONE) +
           (getauxval(AT_SECURE) ? SECURE : 0);
}

// Runs a program with every variable set.
static int run(const char *program) {
    pid_t pid = fork();
    if (pid == 0) {
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            setenv(names[i], "/dev/null", 1);
        execl(program, program, "child", (char *)NULL);
        _exit(99);
    }
    int status;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static void ordinary_programs_obey(void **state) {
    (void)state;
    assert_int_equal(run("/proc/self/exe"), SEES_ALL);
}

static void setuid_programs_do_not(void **state) {
    (void)state;
    char path[] = "/tmp/quern_env_XXXXXX";
    struct stat st;
    if (geteuid() != 0) {
        print_message("skipped: making a setuid program of another user needs root\n");
        skip();
    }
    int from = open("/proc/self/exe", O_RDONLY), to = mkstemp(path);
    assert_int_equal(fstat(from, &st), 0);
    for (off_t at = 0; at < st.st_size;)
        assert_true(sendfile(to, from, &at, (size_t)(st.st_size - at)) > 0);
    assert_int_equal(fchown(to, 1234, 1234), 0);
    assert_int_equal(fchmod(to, 04755), 0);
    close(from);
    close(to);
    int code = run(path);
    unlink(path);
    if (code == SEES_ALL) {
        print_message("skipped: /tmp does not honour setuid\n");
        skip();
    }
    assert_int_equal(code, SEES_NONE + SECURE);
}

int main(int argc, char **argv) {
    if (argc == 2 && strcmp(argv[1], "child") == 0)
        _exit(child()); // LeakSanitizer cannot look at a process with raised rights
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ordinary_programs_obey),
        cmocka_unit_test(setuid_programs_do_not),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
