/* SPDX-License-Identifier: Apache-2.0
 * beside.h - files that belong to the command: plug-ins lie beside the binary, or in ../lib/mxcheck of it. */
#ifndef TOOLS_BESIDE_H
#define TOOLS_BESIDE_H

#include <stdbool.h>
#include <stddef.h>

/* Path of `name` into `path`; false where there is no such file. */
bool beside_binary(const char *name, char *path, size_t size);

#endif
