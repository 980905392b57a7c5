# SPDX-License-Identifier: MIT
"""The version of Quern: CMake, pip, the Debian package and releases read it here."""
__version__ = "0.1.0"
