// SPDX-License-Identifier: MIT
//
// Property and global config components.
#include "fault_backend.h"
#include "pairs.h"

static void every_group_and_key_of_the_api_is_known(void **state) {
    (void)state;
    static const QnnProperty_Key_t ranges[][2] = {
        // first, last key of a run without holes
        {1, 1},       {101, 101},   {105, 108},   {201, 202},   {205, 222},
        {301, 324},   {401, 404},   {501, 558},   {1001, 1002}, {1101, 1105},
        {1201, 1203}, {1301, 1302}, {1401, 1405}, {1501, 1502}, {2001, 2001},
    };
    unsigned known = 0;
    for (QnnProperty_Key_t key = 0; key < 3000; key++) {
        bool in_api = false;
        for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
            in_api |= key >= ranges[i][0] && key <= ranges[i][1];
        Qnn_ErrorHandle_t answer = QnnProperty_hasCapability(key);
        if (key == QNN_PROPERTY_GROUP_CUSTOM + 7) // of the test backend
            assert_int_equal(answer, QNN_PROPERTY_SUPPORTED);
        else if (in_api)
            assert_true(answer == QNN_PROPERTY_SUPPORTED || answer == QNN_PROPERTY_NOT_SUPPORTED);
        else
            assert_int_equal(answer, QNN_PROPERTY_ERROR_UNKNOWN_KEY);
        known += in_api;
    }
    assert_int_equal(known, 132);
}

static void answers_are_those_of_the_backend(void **state) {
    (void)state;
    OK(QnnProperty_hasCapability(QNN_PROPERTY_GROUP_DEVICE));
    OK(QnnProperty_hasCapability(QNN_PROPERTY_GROUP_GRAPH));
    PAIR("QnnProperty_hasCapability", QNN_PROPERTY_NOT_SUPPORTED,
         QnnProperty_hasCapability(QNN_PROPERTY_GRAPH_SUPPORT_NULL_INPUTS));
    PAIR("QnnProperty_hasCapability", QNN_PROPERTY_NOT_SUPPORTED,
         QnnProperty_hasCapability(QNN_PROPERTY_GROUP_SIGNAL));
    PAIR("QnnProperty_hasCapability", QNN_PROPERTY_ERROR_UNKNOWN_KEY, QnnProperty_hasCapability(0));
    PAIR("QnnProperty_hasCapability", QNN_PROPERTY_ERROR_UNKNOWN_KEY,
         QnnProperty_hasCapability(UINT32_MAX));
}

static void global_options_reach_the_backend(void **state) {
    (void)state;
    fault_reset();
    QnnGlobalConfig_t soc = {.option = QNN_GLOBAL_CONFIG_OPTION_SOC_MODEL, .socModel = 57};
    QnnGlobalConfig_t bad = QNN_GLOBAL_CONFIG_INIT;
    const QnnGlobalConfig_t *none[] = {NULL}, *one[] = {&soc, NULL}, *mixed[] = {&soc, &bad, NULL};
    OK(QnnGlobalConfig_Set(NULL));
    OK(QnnGlobalConfig_Set(none));
    assert_int_equal(fault_calls[FAULT_GLOBAL_CONFIG], 0);
    OK(QnnGlobalConfig_Set(one));
    assert_int_equal(fault_calls[FAULT_GLOBAL_CONFIG], 1);
    PAIR("QnnGlobalConfig_Set", QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG, QnnGlobalConfig_Set(mixed));
    assert_int_equal(fault_calls[FAULT_GLOBAL_CONFIG], 1); // nothing is applied from a bad list
    fault_status[FAULT_GLOBAL_CONFIG] = QRN_E_INCONSISTENT;
    PAIR("QnnGlobalConfig_Set", QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG, QnnGlobalConfig_Set(one));
    fault_backend.global_config = NULL;
    OK(QnnGlobalConfig_Set(none));
    PAIR("QnnGlobalConfig_Set", QNN_GLOBAL_CONFIG_ERROR_INVALID_CONFIG, QnnGlobalConfig_Set(one));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_group_and_key_of_the_api_is_known),
        cmocka_unit_test(answers_are_those_of_the_backend),
        cmocka_unit_test(global_options_reach_the_backend),
    };
    return cmocka_run_group_tests_name("property", tests, NULL, NULL);
}
