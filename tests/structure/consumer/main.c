// SPDX-License-Identifier: MIT
//
// The smallest client: one provider that names itself and has a core version of the headers' major.
#include "QnnInterface.h"

#include <stdio.h>

int main(void) {
    const QnnInterface_t **providers = NULL;
    uint32_t n_providers = 0;
    if (QnnInterface_getProviders(&providers, &n_providers) != QNN_SUCCESS || n_providers < 1)
        return 1;
    const Qnn_Version_t version = providers[0]->apiVersion.coreApiVersion;
    printf("%s, core API %u.%u\n", providers[0]->providerName, version.major, version.minor);
    return version.major == QNN_API_VERSION_MAJOR ? 0 : 1;
}
