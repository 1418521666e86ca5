/* SPDX-License-Identifier: Apache-2.0
 * Tables of cmd_list.c that have a file of their own. */
#ifndef TOOLS_LIST_RECIPES_H
#define TOOLS_LIST_RECIPES_H

void list_recipes(void);        /* name, formats, block, what sets it apart */
void list_recipe_sources(void); /* name, date, repository and revision */

#endif
