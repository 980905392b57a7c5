// SPDX-License-Identifier: MIT
//
// Context binaries that a client mapped itself and keeps (PERSISTENT_BINARY): a file that is
// changed in place is an error that names it, instead of a crash or of other results.
#include "binary_model.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

static const QnnContext_Config_t persistent = {.option = QNN_CONTEXT_CONFIG_PERSISTENT_BINARY,
                                               .isPersistentBinary = 1};
static const QnnContext_Config_t deferred = {.option = QNN_CONTEXT_CONFIG_OPTION_DEFER_GRAPH_INIT,
                                             .isGraphInitDeferred = 1};

typedef struct mapped {
    char path[64];
    blob bytes;
    uint8_t made[NET_OUT_BYTES]; // results before it was stored
} mapped;

static void store(const char *path, const blob *b) {
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_int_equal(write(fd, b->data, b->size), b->size);
    close(fd);
    const struct timespec past[2] = {{.tv_sec = 1000000000}, {.tv_sec = 1000000000}};
    assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
}

static mapped begin(void) {
    mapped m = {.path = "/tmp/quern_mapped_XXXXXX"};
    blob b = blob_of_net(0, "net", m.made);
    close(mkstemp(m.path));
    store(m.path, &b);
    int fd = open(m.path, O_RDONLY);
    m.bytes = (blob){mmap(NULL, b.size, PROT_READ, MAP_PRIVATE, fd, 0), b.size};
    assert_ptr_not_equal(m.bytes.data, MAP_FAILED);
    close(fd);
    free(b.data);
    return m;
}

static void end(mapped *m, htp_world *w) {
    htp_end(w);
    munmap(m->bytes.data, m->bytes.size);
    unlink(m->path);
}

static htp_world load(const mapped *m, const QnnContext_Config_t *more) {
    htp_world w = htp_bare(0);
    const QnnContext_Config_t *list[] = {&persistent, more, NULL};
    HTP_OK(w.qnn.contextCreateFromBinary(w.backend, w.device, list, m->bytes.data, m->bytes.size,
                                         &w.context, NULL));
    return w;
}

static void assert_named(const htp_world *w, const mapped *m, Qnn_ErrorHandle_t code) {
    const char *text = NULL;
    assert_int_not_equal(code, QNN_SUCCESS);
    HTP_OK(w->qnn.errorGetVerboseMessage(code, &text));
    assert_non_null(strstr(text, m->path));
    assert_non_null(strstr(text, "was changed while it was in use"));
    HTP_OK(w->qnn.errorFreeVerboseMessage(text));
}

static void cut(const mapped *m) { assert_int_equal(truncate(m->path, 0), 0); }

static void overwrite(const mapped *m) {
    uint8_t bytes[64] = {1, 2, 3};
    int fd = open(m->path, O_WRONLY);
    assert_int_equal(pwrite(fd, bytes, sizeof bytes, (off_t)m->bytes.size - 128), sizeof bytes);
    close(fd);
}

static Qnn_ErrorHandle_t execute(const htp_world *w, net *n) {
    static uint8_t in[NET_IN_BYTES], out[NET_OUT_BYTES];
    htp_buffer(&n->x, in, sizeof in);
    htp_buffer(&n->y, out, sizeof out);
    return w->qnn.graphExecute(n->graph, &n->x, 1, &n->y, 1, NULL, NULL);
}

static void a_file_changed_between_load_and_execution_is_an_error(void **state) {
    (void)state;
    void (*const changes[])(const mapped *) = {cut, overwrite};
    for (size_t i = 0; i < 2; i++) {
        uint8_t out[NET_OUT_BYTES];
        mapped m = begin();
        htp_world w = load(&m, NULL);
        net n = net_of(&w.qnn, w.context, "net");
        net_run(&w.qnn, &n, out);
        assert_memory_equal(out, m.made, sizeof out);
        changes[i](&m);
        assert_named(&w, &m, execute(&w, &n));
        assert_named(&w, &m, execute(&w, &n)); // and stays one
        Qnn_GraphHandle_t g = NULL;
        assert_named(&w, &m, w.qnn.graphRetrieve(w.context, "net", &g));
        end(&m, &w); // what is left can be freed
    }
}

static void a_file_changed_before_its_deferred_graphs_are_made_is_an_error(void **state) {
    (void)state;
    mapped m = begin();
    htp_world w = load(&m, &deferred);
    Qnn_GraphHandle_t g = NULL;
    cut(&m);
    assert_named(&w, &m, w.qnn.graphRetrieve(w.context, "net", &g));
    end(&m, &w);
}

static void a_file_that_is_replaced_or_removed_stays_in_use(void **state) {
    (void)state;
    uint8_t out[NET_OUT_BYTES];
    mapped m = begin();
    htp_world w = load(&m, NULL);
    net n = net_of(&w.qnn, w.context, "net");
    char other[80];
    snprintf(other, sizeof other, "%s.new", m.path);
    blob nonsense = {(uint8_t *)(uintptr_t) "nonsense", 8};
    store(other, &nonsense);
    assert_int_equal(rename(other, m.path), 0);
    net_run(&w.qnn, &n, out);
    assert_memory_equal(out, m.made, sizeof out);
    assert_int_equal(unlink(m.path), 0);
    net_run(&w.qnn, &n, out);
    assert_memory_equal(out, m.made, sizeof out);
    end(&m, &w);
}

typedef struct heard {
    sem_t done;
    Qnn_ErrorHandle_t code;
} heard;

static void hear(void *param, Qnn_NotifyStatus_t status) {
    heard *h = param;
    h->code = status.error;
    sem_post(&h->done);
}

static void asynchronous_executions_find_it_too(void **state) {
    (void)state;
    uint8_t in[NET_IN_BYTES], out[NET_OUT_BYTES];
    mapped m = begin();
    htp_world w = load(&m, NULL);
    net n = net_of(&w.qnn, w.context, "net");
    heard h;
    sem_init(&h.done, 0, 0);
    net_fill(in, sizeof in, 3);
    htp_buffer(&n.x, in, sizeof in);
    htp_buffer(&n.y, out, sizeof out);
    HTP_OK(w.qnn.graphExecuteAsync(n.graph, &n.x, 1, &n.y, 1, NULL, NULL, hear, &h));
    sem_wait(&h.done);
    HTP_OK(h.code);
    overwrite(&m);
    assert_named(&w, &m, w.qnn.graphExecuteAsync(n.graph, &n.x, 1, &n.y, 1, NULL, NULL, hear, &h));
    sem_destroy(&h.done);
    end(&m, &w);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_changed_between_load_and_execution_is_an_error),
        cmocka_unit_test(a_file_changed_before_its_deferred_graphs_are_made_is_an_error),
        cmocka_unit_test(a_file_that_is_replaced_or_removed_stays_in_use),
        cmocka_unit_test(asynchronous_executions_find_it_too),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
