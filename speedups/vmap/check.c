#include "check.h"
int vmap_check(struct hosted_check *check) { return 0; }
