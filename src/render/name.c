/*
 * name - functions, places and stacks as people read them
 *
 * Names come from other people's files: nothing in them may move the cursor of a terminal.
 */
#include "render/name.h"

#include <stdio.h>
#include <string.h>

#include "base/util.h"

static bool continues(char c)
{
	return ((unsigned char)c & 0xc0) == 0x80;
}

static int characters(const char *s)
{
	int n = 0;

	for (; *s; s++)
		n += !continues(*s);
	return n;
}

int name_width(const char *name, int most)
{
	int n = characters(name);

	return most && n > most ? most : n;
}

void name_out(struct out *o, const char *name, int most)
{
	int n = characters(name), head = n, tail = 0, at = -1;

	if (most && n > most) {
		head = (most - 2) * 2 / 3;
		tail = n - (most - 2 - head);
	}
	for (; *name; name++) {
		at += !continues(*name);
		if (at == head && head < tail && !continues(*name))
			out_text(o, "..");
		if (at >= head && at < tail)
			continue;
		out_char(o, (unsigned char)*name < 0x20 || *name == 0x7f ? '?' : *name);
	}
}

const char *name_place(char *text, size_t size, const char *file, uint32_t line, const char *module)
{
	const char *slash;

	if (!file) {
		snprintf(text, size, "%s", module ? module : "");
		return text;
	}
	slash = strrchr(file, '/');
	if (line)
		snprintf(text, size, "%s:%u", slash ? slash + 1 : file, line);
	else
		snprintf(text, size, "%s", slash ? slash + 1 : file);
	return text;
}

bool name_is_allocator(const char *name)
{
	static const char *const wrappers[] = {
		"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign",
		"__rtld_malloc", "__rtld_calloc", "__rtld_realloc",
		"xmalloc", "xcalloc", "xrealloc", "xmallocz", "xzalloc", "xstrdup", "xstrndup", "xmemdup",
		"g_malloc", "g_malloc0", "g_realloc", "g_strdup", "g_malloc_n", "g_malloc0_n",
		"PyMem_RawMalloc", "PyMem_RawCalloc", "PyMem_RawRealloc", "_PyMem_RawMalloc", "_PyMem_RawCalloc",
		"_PyMem_RawRealloc", "PyMem_Malloc", "PyMem_Calloc", "PyMem_Realloc", "PyObject_Malloc", "PyObject_Calloc",
		"PyObject_Realloc", "_PyObject_Malloc", "_PyObject_Calloc", "_PyObject_Realloc",
		"Perl_safesysmalloc", "Perl_safesyscalloc", "Perl_safesysrealloc", "sqlite3MemMalloc", "sqlite3MemRealloc",
		"sqlite3Malloc", "sqlite3_malloc", "sqlite3_malloc64", "CRYPTO_malloc", "CRYPTO_zalloc", "CRYPTO_realloc",
		"CRYPTO_strdup", "_PyMem_RawWcsdup", "__rust_alloc", "__rdl_alloc", "strdup", "strndup", "__strdup", "__strndup",
	};
	size_t i;

	if (!strncmp(name, "operator new", 12) || strstr(name, "new_allocator<") || strstr(name, "std::allocator_traits<"))
		return true;
	for (i = 0; i < ARRAY_SIZE(wrappers); i++)
		if (!strcmp(name, wrappers[i]))
			return true;
	return false;
}

const struct tree_node *name_site(const struct tree_node *leaf)
{
	const struct tree_node *node = leaf;

	while (node && node->frame && name_is_allocator(node->frame->name))
		node = node->parent;
	return node && node->frame ? node : leaf;
}

const struct tree_node *name_caller(const struct tree_node *node)
{
	const struct function *function = node->frame->function;

	for (node = node->parent; node && node->frame; node = node->parent)
		if (node->frame->function != function)
			return node;
	return NULL;
}
