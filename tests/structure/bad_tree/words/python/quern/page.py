# SPDX-License-Identifier: MIT
"""A page.

Results that nobody reads.
"""
nobody = "codes"
