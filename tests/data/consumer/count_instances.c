/* Asks the C interface. */
#include <stdio.h>

#include "ckgen/c_api.h"

int main(void) {
    printf("%s %d\n", ckgen_platform(), (int)ckgen_instance_count());
    return 0;
}
