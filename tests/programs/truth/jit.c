/* jit.c - code made at run time, named by /tmp/perf-PID.map; it takes all the CPU time, and says at the end how many functions there were */
#define _GNU_SOURCE
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

/* mov %rdi,%rax; 1: dec %rax; jnz 1b; ret - with a table of its own it is not: a leaf that was just called */
static const uint8_t code[] = { 0x48, 0x89, 0xf8, 0x48, 0xff, 0xc8, 0x75, 0xfb, 0xc3 };

int main(void)
{
	uint8_t *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	FILE *map;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	map = fopen(path, "w");
	for (int i = 0; i < 3; i++) {
		memcpy(page + 256 * i, code, sizeof(code));
		fprintf(map, "%lx %zx jit function %d\n", (unsigned long)(page + 256 * i), sizeof(code), i);
	}
	fclose(map);
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	while (clock() < CLOCKS_PER_SEC / 2)
		for (int i = 0; i < 3; i++)
			((void (*)(uint64_t))(uintptr_t)(page + 256 * i))(20000u * (unsigned)(i + 1));
	puts(path);
	return 0;
}
