// SPDX-License-Identifier: MIT
//
// Types that a library must define once: none on a host.

#ifndef QUERN_HTP_UNIQUE_TYPES_H
#define QUERN_HTP_UNIQUE_TYPES_H

#define DEFINE_UNIQ_TY()

#endif // QUERN_HTP_UNIQUE_TYPES_H
