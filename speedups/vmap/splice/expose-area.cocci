// SPDX-License-Identifier: GPL-2.0-only
// Newer kernels let all of mm/ ask for an area with an alignment.

@area@
@@
-static
 struct vm_struct *__get_vm_area_node(...)
 {
 ...
 }
