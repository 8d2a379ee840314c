/* machine - what the CPU says of the machine around it: on aarch64 a hypervisor does not show itself */
#include <stdio.h>

#include "arch/arch.h"

void arch_hypervisor(char *ret, size_t size)
{
	snprintf(ret, size, "unknown");
}
