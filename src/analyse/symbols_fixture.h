/* symbols_fixture.h - for the tests of symbols: this very program, whose functions know where they are */
#ifndef TARE_ANALYSE_SYMBOLS_FIXTURE_H
#define TARE_ANALYSE_SYMBOLS_FIXTURE_H

#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <libelf.h>
#include <link.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))

static char self_path[4096];
static uint64_t self_bias;
static uint8_t self_id[64];
static uint32_t self_id_len;

/* Where the caller called it, so that the call's line is this address's line. */
static NOINLINE __attribute__((unused)) uint64_t call_address(void)
{
	return (uint64_t)__builtin_extract_return_addr(__builtin_return_address(0)) - 1;
}

static int take_first(struct dl_phdr_info *info, size_t size, void *data)
{
	self_bias = info->dlpi_addr;
	return 1;
}

/* What the build id of a file is; 0: none. */
static inline uint32_t read_build_id(const char *path, uint8_t id[64])
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	const void *found;
	ssize_t n;
	Elf *elf;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	n = elf ? dwelf_elf_gnu_build_id(elf, &found) : 0;
	n = n < 0 || n > 64 ? 0 : n;
	if (n)
		memcpy(id, found, (size_t)n);
	elf_end(elf);
	close(fd);
	return (uint32_t)n;
}

static inline int find_self(void **state)
{
	ssize_t n = readlink("/proc/self/exe", self_path, sizeof(self_path) - 1);

	if (n <= 0)
		return -1;
	self_path[n] = 0;
	dl_iterate_phdr(take_first, NULL);
	self_id_len = read_build_id(self_path, self_id);
	return 0;
}

static inline uint64_t in_self(const void *p)
{
	return (uint64_t)p - self_bias;
}

#endif
