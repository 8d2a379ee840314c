/*
 * machine - what the CPU says of the machine around it
 *
 * A hypervisor names itself in a CPUID leaf of its own (Linux: Documentation/virt/kvm/x86/cpuid.rst).
 */
#include <cpuid.h>
#include <stdio.h>
#include <string.h>

#include "arch/arch.h"

void arch_hypervisor(char *ret, size_t size)
{
	static const struct { const char *signature, *name; } known[] = {
		{ "KVMKVMKVM", "kvm" }, { "Microsoft Hv", "hyperv" }, { "VMwareVMware", "vmware" },
		{ "XenVMMXenVMM", "xen" }, { "TCGTCGTCGTCG", "qemu" }, { "ACRNACRNACRN", "acrn" },
		{ "bhyve bhyve ", "bhyve" },
	};
	unsigned int leaf, signature[3];
	char text[13] = "";
	size_t i;

	__cpuid(0x40000000, leaf, signature[0], signature[1], signature[2]);
	memcpy(text, signature, 12);
	snprintf(ret, size, "%s", leaf >= 0x40000000 && text[0] ? text : "unknown");
	for (i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (!strcmp(text, known[i].signature))
			snprintf(ret, size, "%s", known[i].name);
}
