// SPDX-License-Identifier: MIT
//
// Watching cases: an alarm clock, and the sanitizer's last words.
#include "watch.h"

#include "base/sanitized.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <unistd.h>

enum { PATIENCE = 10 }; // other programs may use the machine, too

static const char *case_name = "none";
static uint64_t case_number;
static unsigned limit_s;

static void say(void) {
    fprintf(stderr, "while running case '%s' %" PRIu64 "\n", case_name, case_number);
}

static void on_alarm(int signal_number) {
    if (signal_number == SIGPROF)
        fprintf(stderr, "not done after %u seconds of computing\n", limit_s);
    else
        fprintf(stderr, "not done after %u seconds\n", limit_s * PATIENCE);
    say();
    abort(); // leaves a stack to look at
}

#ifdef QRN_ASAN
#include <sanitizer/common_interface_defs.h>
static void watch_sanitizer(void) { __sanitizer_set_death_callback(say); }
#else
static void watch_sanitizer(void) {}
#endif

void watch_start(unsigned seconds) {
    limit_s = seconds;
    signal(SIGALRM, on_alarm);
    signal(SIGPROF, on_alarm);
    watch_sanitizer();
}

void watch_case(const char *name, uint64_t number) {
    case_name = name;
    case_number = number;
    alarm(limit_s * PATIENCE);
    setitimer(ITIMER_PROF, &(struct itimerval){.it_value.tv_sec = (time_t)limit_s}, NULL);
}
