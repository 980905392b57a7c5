// SPDX-License-Identifier: MIT
//
// SHA-256 against the vectors of the standard (FIPS 180-4 examples, NIST's million letters).
#include "base/sha256.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static void expect(const void *data, size_t n, size_t piece, const char *hex) {
    qrn_sha256 s;
    uint8_t digest[QRN_SHA256_BYTES];
    char text[2 * QRN_SHA256_BYTES + 1];
    qrn_sha256_begin(&s);
    for (size_t i = 0; i < n; i += piece)
        qrn_sha256_add(&s, (const char *)data + i, n - i < piece ? n - i : piece);
    qrn_sha256_end(&s, digest);
    for (unsigned i = 0; i < sizeof digest; i++)
        snprintf(text + 2 * i, 3, "%02x", digest[i]);
    assert_string_equal(text, hex);
}

static void vectors_of_the_standard(void **state) {
    (void)state;
    static const char two[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const char four[] = "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                               "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu";
    for (size_t piece = 1; piece < 130; piece += 13) {
        expect("", 0, piece, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
        expect("abc", 3, piece, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        expect(two, strlen(two), piece,
               "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        expect(four, strlen(four), piece,
               "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
    }
}

static void a_million_letters(void **state) {
    (void)state;
    static char letters[1000000];
    memset(letters, 'a', sizeof letters);
    expect(letters, sizeof letters, 4097,
           "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(vectors_of_the_standard),
        cmocka_unit_test(a_million_letters),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
