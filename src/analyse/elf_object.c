/*
 * elf_object - an object file and its separate debug file
 *
 * libdwfl could search the files, but its standard call-backs ask debuginfod servers where the environment names some,
 * and a report must not depend on a network. So the search is written out here: build id first, then .gnu_debuglink.
 *
 * Files are mapped, and their descriptors closed: a program can have more libraries than a process may have files open.
 */
#include "analyse/elf_object.h"

#include <elf.h>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "base/util.h"

enum { PATH_BYTES = 4096, LARGEST_VDSO = 1 << 20 };

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

/* Only regular files: a path in a recording may name a pipe or a device by now. */
static int open_regular(const char *path)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd >= 0 && (fstat(fd, &st) || !S_ISREG(st.st_mode))) {
		close(fd);
		return -1;
	}
	return fd;
}

static Elf *begin_elf(int fd)
{
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);

	if (elf && elf_kind(elf) != ELF_K_ELF) {
		elf_end(elf);
		return NULL;
	}
	return elf;
}

Elf_Scn *elf_object_section(Elf *elf, const char *name)
{
	Elf_Scn *scn = NULL;
	size_t shstrndx;

	if (!elf || elf_getshdrstrndx(elf, &shstrndx))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		const char *s = gelf_getshdr(scn, &shdr) ? elf_strptr(elf, shstrndx, shdr.sh_name) : NULL;

		if (s && !strcmp(s, name))
			return scn;
	}
	return NULL;
}

static bool has_build_id(Elf *elf, const uint8_t *id, uint32_t len)
{
	const void *found;
	ssize_t n = dwelf_elf_gnu_build_id(elf, &found);

	return n > 0 && (size_t)n == len && !memcmp(found, id, len);
}

static bool has_dwarf(Elf *elf)
{
	return elf_object_section(elf, ".debug_info") || elf_object_section(elf, ".zdebug_info");
}

/* libdw finds files that belong to this one (dwz) by the descriptor's path, so it starts while that is open. */
static void take_dwarf(struct elf_object *o, Elf *elf)
{
	if (!o->dwarf && has_dwarf(elf))
		o->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
}

static uint32_t checksum(int fd)
{
	unsigned char buffer[16384];
	uLong crc = crc32(0, NULL, 0);
	off_t at = 0;
	ssize_t n;

	while ((n = pread(fd, buffer, sizeof(buffer), at)) > 0) {
		crc = crc32(crc, buffer, (uInt)n);
		at += n;
	}
	return (uint32_t)crc;
}

/* What a debug file must prove: the build id where one is known, else the checksum that the link gives. */
struct proof {
	const uint8_t *build_id;
	uint32_t build_id_len;
	uint32_t crc;
};

static bool try_debug_file(struct elf_object *o, const char *path, const struct proof *proof)
{
	CLEANUP(close_fd) int fd = open_regular(path);
	Elf *elf;

	if (fd < 0)
		return false;
	if (!proof->build_id_len && checksum(fd) != proof->crc)
		return false;
	elf = begin_elf(fd);
	if (!elf)
		return false;
	if (proof->build_id_len && !has_build_id(elf, proof->build_id, proof->build_id_len)) {
		elf_end(elf);
		return false;
	}
	take_dwarf(o, elf);
	elf_cntl(elf, ELF_C_FDREAD);
	o->debug = elf;
	return true;
}

/* Calls try_debug_file() for DIR + MIDDLE + NAME with each DIR of a list; cuts off where a path would be too long. */
static bool try_debug_dirs(struct elf_object *o, const char *dirs, const char *middle, int middle_len, const char *name,
			   const struct proof *proof)
{
	char path[PATH_BYTES];

	while (*dirs) {
		int len = (int)MIN(strcspn(dirs, ":"), (size_t)PATH_BYTES);
		int n = snprintf(path, sizeof(path), "%.*s%.*s/%s", len, dirs, middle_len, middle, name);

		if (len && n > 0 && n < PATH_BYTES && try_debug_file(o, path, proof))
			return true;
		dirs += len;
		dirs += *dirs == ':';
	}
	return false;
}

static bool find_by_build_id(struct elf_object *o, const char *dirs, const struct proof *proof)
{
	char name[2 * 64 + sizeof(".build-id//.debug")];
	uint32_t i;
	int n;

	if (proof->build_id_len < 2 || proof->build_id_len > 64)
		return false;
	n = snprintf(name, sizeof(name), ".build-id/%02x/", proof->build_id[0]);
	for (i = 1; i < proof->build_id_len; i++)
		n += snprintf(name + n, sizeof(name) - (size_t)n, "%02x", proof->build_id[i]);
	snprintf(name + n, sizeof(name) - (size_t)n, ".debug");
	return try_debug_dirs(o, dirs, "", 0, name, proof);
}

static bool find_by_link(struct elf_object *o, const char *path, const char *dirs, struct proof *proof)
{
	const char *name = dwelf_elf_gnu_debuglink(o->elf, &proof->crc), *slash = strrchr(path, '/');
	int dir_len = slash ? (int)(slash - path) : 0;
	char beside[PATH_BYTES];
	int n;

	if (!name || strchr(name, '/') || dir_len > PATH_BYTES / 2 || strlen(name) > 255)
		return false;
	n = snprintf(beside, sizeof(beside), "%.*s/%s", dir_len, path, name);
	if (n > 0 && strcmp(beside, path) && try_debug_file(o, beside, proof))
		return true;
	snprintf(beside, sizeof(beside), "%.*s/.debug/%s", dir_len, path, name);
	return try_debug_file(o, beside, proof) || try_debug_dirs(o, dirs, path, dir_len, name, proof);
}

static void find_debug_file(struct elf_object *o, const char *path, const uint8_t *id, uint32_t id_len, const char *dirs)
{
	struct proof proof = { id, id_len };

	if (!id_len && o->elf) {
		const void *own;
		ssize_t n = dwelf_elf_gnu_build_id(o->elf, &own);

		proof.build_id = own;
		proof.build_id_len = n > 0 && n <= 64 ? (uint32_t)n : 0;
	}
	if (!find_by_build_id(o, dirs, &proof) && o->elf)
		find_by_link(o, path, dirs, &proof);
}

/*
 * The vDSO lies in no file: this process's own is the one that ran, if the build ids say so. It is copied, cut at the
 * end of its section headers, which the linker puts last.
 */
static void open_vdso(struct elf_object *o, const uint8_t *id, uint32_t id_len)
{
	const Elf64_Ehdr *vdso = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);	/* NOLINT: an address by contract */
	size_t size;

	o->state = ELF_OBJECT_NO_FILE;
	if (!vdso || !id_len || memcmp(vdso->e_ident, ELFMAG, SELFMAG) || vdso->e_ident[EI_CLASS] != ELFCLASS64)
		return;
	size = vdso->e_shoff + (size_t)vdso->e_shnum * vdso->e_shentsize;
	if (size < sizeof(*vdso) || size > LARGEST_VDSO)
		return;
	o->memory = malloc(size);
	if (!o->memory)
		return;
	memcpy(o->memory, vdso, size);
	o->elf = elf_memory(o->memory, size);
	if (o->elf && has_build_id(o->elf, id, id_len)) {
		o->state = ELF_OBJECT_USED;
		return;
	}
	elf_end(o->elf);
	o->elf = NULL;
}

static void open_main(struct elf_object *o, int fd, const uint8_t *id, uint32_t id_len)
{
	o->state = ELF_OBJECT_UNREADABLE;
	o->elf = begin_elf(fd);
	if (!o->elf)
		return;
	o->state = ELF_OBJECT_USED;
	if (!id_len || has_build_id(o->elf, id, id_len))
		return;
	o->state = ELF_OBJECT_CHANGED;
	elf_end(o->elf);
	o->elf = NULL;
}

void elf_object_open(struct elf_object *ret, const char *path, const uint8_t *build_id, uint32_t build_id_len,
		     const char *debug_dirs)
{
	CLEANUP(close_fd) int fd = -1;
	struct elf_object *o = ret;

	*o = (struct elf_object){ .state = ELF_OBJECT_NO_FILE };
	elf_version(EV_CURRENT);
	if (!strcmp(path, "[vdso]"))
		open_vdso(o, build_id, build_id_len);
	if (path[0] != '/' || path[1] == '/')
		return;
	o->state = ELF_OBJECT_MISSING;
	fd = open_regular(path);
	if (fd >= 0)
		open_main(o, fd, build_id, build_id_len);
	if (o->elf)
		take_dwarf(o, o->elf);
	if (!o->dwarf)
		find_debug_file(o, path, build_id, build_id_len, debug_dirs);
	if (o->elf)
		elf_cntl(o->elf, ELF_C_FDREAD);
}

void elf_object_close(struct elf_object *o)
{
	if (!o)
		return;
	dwarf_end(o->dwarf);
	elf_end(o->debug);
	elf_end(o->elf);
	free(o->memory);
	*o = (struct elf_object){ 0 };
}
