/*
 * program - finds the program to be started, and sees beforehand whether an agent can be loaded into it
 *
 * The loader drops a preload entry without a word for set-user-id programs, and a static program has no loader: both would
 * run unmeasured, and the result would be empty. So they are refused, with the reason. Scripts are judged by their interpreter.
 */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/util.h"
#include "collect/collect.h"

enum { SCRIPT_DEPTH = 4 };

static void cleanup_close(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static bool is_executable_file(const char *path)
{
	struct stat st;

	return !stat(path, &st) && S_ISREG(st.st_mode) && !access(path, X_OK);
}

/* Looks along PATH as execvp(3) does. *ret_path stays NULL where nothing can be executed. */
static int search(const char *program, char **ret_path, bool *ret_seen)
{
	const char *path = getenv("PATH"), *end;
	struct stat st;
	char *candidate;

	*ret_seen = false;
	if (strchr(program, '/')) {
		*ret_seen = !stat(program, &st);
		if (is_executable_file(program))
			*ret_path = strdup(program);
		return 0;
	}
	if (!path)
		path = "/bin:/usr/bin";
	for (;; path = end + 1) {
		end = strchrnul(path, ':');
		candidate = malloc((size_t)(end - path) + strlen(program) + 3);
		if (!candidate)
			return -ENOMEM;
		memcpy(candidate, path, (size_t)(end - path));
		strcpy(candidate + (end - path), end == path ? "./" : "/");
		strcat(candidate, program);
		if (is_executable_file(candidate)) {
			*ret_path = candidate;
			return 0;
		}
		*ret_seen |= !stat(candidate, &st) && S_ISREG(st.st_mode);
		free(candidate);
		if (!*end)
			return 0;
	}
}

static bool is_elf_for_here(const Elf64_Ehdr *ehdr)
{
	Elf64_Ehdr self = { 0 };
	int fd CLEANUP(cleanup_close) = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	/* the same class and machine as this program */
	return fd < 0 || pread(fd, &self, sizeof(self), 0) != sizeof(self) ||
	       (self.e_machine == ehdr->e_machine && self.e_ident[EI_CLASS] == ehdr->e_ident[EI_CLASS]);
}

/* The file offset of an address of the program, by its load segments; 0: in none. */
static uint64_t file_offset(int fd, const Elf64_Ehdr *ehdr, uint64_t address)
{
	Elf64_Phdr phdr;
	int i;

	for (i = 0; i < ehdr->e_phnum; i++) {
		if (pread(fd, &phdr, sizeof(phdr), (off_t)(ehdr->e_phoff + (uint64_t)i * sizeof(phdr))) != sizeof(phdr))
			return 0;
		if (phdr.p_type == PT_LOAD && address - phdr.p_vaddr < phdr.p_filesz)
			return phdr.p_offset + address - phdr.p_vaddr;
	}
	return 0;
}

/* Whether the program needs a library that must be loaded before any other; its name goes to @ret. */
static bool needs_sanitizer(int fd, const Elf64_Ehdr *ehdr, const Elf64_Phdr *dynamic, char *ret, size_t size)
{
	static const char *const runtimes[] = { "libasan.so", "libtsan.so", "liblsan.so", "libhwasan.so" };
	uint64_t strings = 0, i, n = MIN(dynamic->p_filesz / sizeof(Elf64_Dyn), 1000u);
	Elf64_Dyn entry;
	ssize_t got;
	size_t k;
	int pass;

	for (pass = 0; pass < 2; pass++)
		for (i = 0; i < n; i++) {
			if (pread(fd, &entry, sizeof(entry), (off_t)(dynamic->p_offset + i * sizeof(entry))) != sizeof(entry))
				return false;
			if (pass == 0 && entry.d_tag == DT_STRTAB)
				strings = file_offset(fd, ehdr, entry.d_un.d_ptr);
			if (pass == 0 || !strings || entry.d_tag != DT_NEEDED)
				continue;
			got = pread(fd, ret, size - 1, (off_t)(strings + entry.d_un.d_val));
			ret[MAX(got, 0)] = 0;
			for (k = 0; k < ARRAY_SIZE(runtimes); k++)
				if (!strncmp(ret, runtimes[k], strlen(runtimes[k])))
					return true;
		}
	return false;
}

static int check_elf(int fd, const Elf64_Ehdr *ehdr, const char *path, const char *who, struct err *err)
{
	char interpreter[256] = "", needed[64];
	Elf64_Phdr phdr, dynamic = { 0 };
	int i;

	if (!is_elf_for_here(ehdr)) {
		err_set(err, COLLECT_REFUSED, "%s: '%s' is a program for another CPU mode (%s), and tare's agent is not", who,
			path, ehdr->e_ident[EI_CLASS] == ELFCLASS32 ? "32-bit" : "another architecture");
		return COLLECT_REFUSED;
	}
	for (i = 0; i < ehdr->e_phnum; i++) {
		if (pread(fd, &phdr, sizeof(phdr), (off_t)(ehdr->e_phoff + (uint64_t)i * sizeof(phdr))) != sizeof(phdr))
			break;
		if (phdr.p_type == PT_INTERP &&
		    pread(fd, interpreter, MIN(phdr.p_filesz, sizeof(interpreter) - 1), (off_t)phdr.p_offset) < 0)
			interpreter[0] = 0;
		if (phdr.p_type == PT_DYNAMIC)
			dynamic = phdr;
	}
	if (!interpreter[0]) {
		err_set(err, COLLECT_REFUSED, "%s: '%s' is statically linked, so no agent can be preloaded into it", who, path);
		err_next(err, "link it dynamically (without -static) and run the same command again");
		return COLLECT_REFUSED;
	}
	if (strstr(interpreter, "ld-musl")) {
		err_set(err, COLLECT_REFUSED, "%s: '%s' uses the musl C library (%s), and tare's agent needs glibc", who, path,
			interpreter);
		err_next(err, "measure a build for glibc");
		return COLLECT_REFUSED;
	}
	if (needs_sanitizer(fd, ehdr, &dynamic, needed, sizeof(needed))) {
		err_set(err, COLLECT_REFUSED, "%s: '%s' is built with a sanitizer (%s), which refuses to run when another library is "
			"loaded before it", who, path, needed);
		err_next(err, "measure a build without -fsanitize");
		return COLLECT_REFUSED;
	}
	return COLLECT_OK;
}

static int check_privileges(int fd, const char *path, const char *who, struct err *err)
{
	struct stat st;
	const char *what = NULL;

	if (fstat(fd, &st))
		return COLLECT_OK;
	if (st.st_mode & S_ISUID && st.st_uid != geteuid())
		what = "set-user-id";
	else if (st.st_mode & S_ISGID && st.st_mode & S_IXGRP && st.st_gid != getegid())
		what = "set-group-id";
	else if (fgetxattr(fd, "security.capability", NULL, 0) > 0 && geteuid() != 0)
		what = "given file capabilities";
	if (!what)
		return COLLECT_OK;
	err_set(err, COLLECT_REFUSED, "%s: '%s' is %s, and the loader ignores preloaded agents in such programs", who, path, what);
	err_next(err, "run tare as the user that the program runs as (for root: sudo tare %s -- %s)", who, path);
	return COLLECT_REFUSED;
}

static int check(const char *path, const char *who, int depth, struct err *err)
{
	int fd CLEANUP(cleanup_close) = open(path, O_RDONLY | O_CLOEXEC);
	Elf64_Ehdr ehdr;
	char line[256], *interpreter;
	ssize_t n;
	int r;

	if (fd < 0)	/* may be executed, but not read: the run will show */
		return COLLECT_OK;
	r = check_privileges(fd, path, who, err);
	if (r)
		return r;
	n = pread(fd, line, sizeof(line) - 1, 0);
	if (n > 2 && line[0] == '#' && line[1] == '!' && depth < SCRIPT_DEPTH) {
		line[n] = 0;
		interpreter = strtok(line + 2, " \t\n");
		return interpreter ? check(interpreter, who, depth + 1, err) : COLLECT_OK;
	}
	if (pread(fd, &ehdr, sizeof(ehdr), 0) != sizeof(ehdr) || memcmp(ehdr.e_ident, ELFMAG, SELFMAG))
		return COLLECT_OK;
	return check_elf(fd, &ehdr, path, who, err);
}

int collect_find(const char *program, const char *who, char **ret_path, struct err *err)
{
	char *path CLEANUP_FREE = NULL;
	struct stat st;
	bool seen;
	int r;

	r = search(program, &path, &seen);
	if (r < 0)
		return err_set(err, r, "%s: out of memory", who);
	if (!path && !seen) {
		err_set(err, COLLECT_NOT_FOUND, "%s: there is no program '%s'%s", who, program,
			strchr(program, '/') ? "" : " in PATH");
		return COLLECT_NOT_FOUND;
	}
	if (!path) {
		err_set(err, COLLECT_NOT_EXECUTABLE, "%s: '%s' cannot be executed: %s", who, program,
			!stat(program, &st) && S_ISDIR(st.st_mode) ? "it is a directory" : "permission denied");
		if (stat(program, &st) || S_ISREG(st.st_mode))
			err_next(err, "chmod +x %s", program);
		return COLLECT_NOT_EXECUTABLE;
	}
	r = check(path, who, 0, err);
	if (r)
		return r;
	*ret_path = path;
	path = NULL;
	return COLLECT_OK;
}
