/*
 * elf_lines - functions, inlined calls and lines by DWARF
 *
 * The object's units are indexed by the ranges in their first entry; .debug_aranges would be quicker to read, but clang
 * writes none. A unit's functions are indexed when its first address is asked for: libdw's own search for scopes walks
 * the unit from its start for every address. Functions are looked for at the top and in namespaces first; only when an
 * address lies in none of these, everywhere (methods that Rust keeps inside of types, nested functions).
 *
 * The inlined calls of an address are those on the way from its function down to the address, through blocks.
 */
#include "analyse/elf_lines.h"

#include <dwarf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/util.h"

enum { MAX_INLINED = 64, MAX_DEPTH = 64 };

struct line_unit {
	Dwarf_Die die;			/* with the line table */
	Dwarf_Die tree;			/* with the functions: that of the .dwo where DWARF is split */
	Dwarf_Die *functions;
	struct line_range *ranges;	/* of functions, by start */
	uint32_t nfunctions, nranges;
	enum { UNIT_UNREAD, UNIT_SHALLOW, UNIT_DEEP } state;
};

static void *grow(void *array, uint32_t count, size_t size)
{
	if (count && (count & (count - 1)))
		return array;
	array = realloc(array, (count ? (size_t)count * 2 : 1) * size);
	if (!array)
		arena_no_memory();
	return array;
}

static int by_start(const void *a, const void *b)
{
	const struct line_range *x = a, *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

/* The linker gives functions that it dropped the address 0 or 1; their ranges would lie over others. */
static void add_ranges(struct line_range **ranges, uint32_t *count, Dwarf_Die *die, uint32_t index)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &start, &end)) > 0) {
		if (start <= 1 || end <= start)
			continue;
		*ranges = grow(*ranges, *count, sizeof(**ranges));
		(*ranges)[(*count)++] = (struct line_range){ start, end, index };
	}
}

static const struct line_range *find_range(const struct line_range *ranges, uint32_t count, uint64_t address)
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (ranges[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < ranges[low - 1].end ? &ranges[low - 1] : NULL;
}

void elf_lines_read(struct elf_lines *ret, Dwarf *dwarf)
{
	struct elf_lines *l = ret;
	Dwarf_CU *cu = NULL;
	Dwarf_Die die, sub;
	uint8_t type;

	*l = (struct elf_lines){ .dwarf = dwarf };
	if (!dwarf)
		return;
	while (dwarf_get_units(dwarf, cu, &cu, NULL, &type, &die, &sub) == 0) {
		struct line_unit *unit;

		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		l->units = grow(l->units, l->nunits, sizeof(*l->units));
		unit = &l->units[l->nunits];
		*unit = (struct line_unit){ .die = die, .tree = type == DW_UT_skeleton && dwarf_tag(&sub) ? sub : die };
		add_ranges(&l->ranges, &l->nranges, &die, l->nunits++);
	}
	if (l->nranges)
		qsort(l->ranges, l->nranges, sizeof(*l->ranges), by_start);
}

void elf_lines_fini(struct elf_lines *l)
{
	uint32_t i;

	if (!l)
		return;
	for (i = 0; i < l->nunits; i++) {
		free(l->units[i].functions);
		free(l->units[i].ranges);
	}
	free(l->units);
	free(l->ranges);
	*l = (struct elf_lines){ 0 };
}

/* dwarf_siblingof(), but never backwards: a broken file could send it in circles. */
static bool next_sibling(Dwarf_Die *die)
{
	const void *before = die->addr;

	return dwarf_siblingof(die, die) == 0 && (const char *)die->addr > (const char *)before;
}

static bool holds_functions(int tag, bool deep)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_structure_type:
	case DW_TAG_class_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_variant_part:
	case DW_TAG_subprogram:
	case DW_TAG_lexical_block:
		return deep;
	default:
		return false;
	}
}

static void add_functions(struct line_unit *unit, Dwarf_Die *parent, bool deep, int depth)
{
	Dwarf_Die die;

	if (depth > MAX_DEPTH || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);

		if (tag == DW_TAG_subprogram) {
			uint32_t before = unit->nranges;

			add_ranges(&unit->ranges, &unit->nranges, &die, unit->nfunctions);
			if (unit->nranges > before) {
				unit->functions = grow(unit->functions, unit->nfunctions, sizeof(die));
				unit->functions[unit->nfunctions++] = die;
			}
		}
		if (holds_functions(tag, deep))
			add_functions(unit, &die, deep, depth + 1);
	} while (next_sibling(&die));
}

static void read_unit(struct line_unit *unit, bool deep)
{
	unit->nfunctions = unit->nranges = 0;
	free(unit->ranges);
	free(unit->functions);
	unit->ranges = NULL;
	unit->functions = NULL;
	add_functions(unit, &unit->tree, deep, 0);
	if (unit->nranges)
		qsort(unit->ranges, unit->nranges, sizeof(*unit->ranges), by_start);
	unit->state = deep ? UNIT_DEEP : UNIT_SHALLOW;
}

static Dwarf_Die *find_function(struct line_unit *unit, uint64_t address)
{
	const struct line_range *range;

	if (unit->state == UNIT_UNREAD)
		read_unit(unit, false);
	range = find_range(unit->ranges, unit->nranges, address);
	if (!range && unit->state == UNIT_SHALLOW) {
		read_unit(unit, true);
		range = find_range(unit->ranges, unit->nranges, address);
	}
	return range ? &unit->functions[range->index] : NULL;
}

/* The inlined calls around @address in @function, outermost first. */
static int find_inlined(Dwarf_Die *function, uint64_t address, Dwarf_Die *ret, int max)
{
	Dwarf_Die parent = *function, die;
	int n = 0, depth;

	for (depth = 0; depth < 4 * MAX_DEPTH && n < max && !dwarf_child(&parent, &die); depth++) {
		bool found = false;

		do {
			int tag = dwarf_tag(&die);

			found = (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) &&
				dwarf_haspc(&die, address) > 0;
		} while (!found && next_sibling(&die));
		if (!found)
			break;
		if (dwarf_tag(&die) == DW_TAG_inlined_subroutine)
			ret[n++] = die;
		parent = die;
	}
	return n;
}

static const char *string_attribute(Dwarf_Die *die, unsigned int name)
{
	Dwarf_Attribute attribute;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attribute));
}

/* The file that the number of @attribute stands for, in the table of the attribute's own unit: in DWARF 5 0 is one. */
static const char *file_attribute(Dwarf_Attribute *attribute)
{
	Dwarf_Half version;
	Dwarf_Files *files;
	Dwarf_Word file;
	Dwarf_Die unit;
	size_t count;

	if (!attribute || dwarf_formudata(attribute, &file) ||
	    dwarf_cu_info(attribute->cu, &version, NULL, &unit, NULL, NULL, NULL, NULL) || (version < 5 && !file) ||
	    dwarf_getsrcfiles(&unit, &files, &count) || file >= count)
		return NULL;
	return dwarf_filesrc(files, file, NULL, NULL);
}

static uint32_t line_attribute(Dwarf_Attribute *attribute)
{
	Dwarf_Word line;

	return attribute && !dwarf_formudata(attribute, &line) && line <= INT32_MAX ? (uint32_t)line : 0;
}

static void describe_function(Dwarf_Die *die, struct line_scope *ret)
{
	Dwarf_Attribute a;

	ret->name = string_attribute(die, DW_AT_linkage_name);
	if (!ret->name)
		ret->name = string_attribute(die, DW_AT_MIPS_linkage_name);
	if (!ret->name)
		ret->name = string_attribute(die, DW_AT_name);
	ret->declared_file = file_attribute(dwarf_attr_integrate(die, DW_AT_decl_file, &a));
	if (ret->declared_file)
		ret->declared_line = line_attribute(dwarf_attr_integrate(die, DW_AT_decl_line, &a));
}

static void describe_call(Dwarf_Die *inlined, struct line_scope *ret)
{
	Dwarf_Attribute a;

	ret->file = file_attribute(dwarf_attr(inlined, DW_AT_call_file, &a));
	ret->line = line_attribute(dwarf_attr(inlined, DW_AT_call_line, &a));
}

static void describe_line(struct line_unit *unit, uint64_t address, struct line_scope *ret)
{
	Dwarf_Line *line = dwarf_getsrc_die(&unit->die, address);
	int number;

	if (!line)
		return;
	ret->file = dwarf_linesrc(line, NULL, NULL);
	if (!dwarf_lineno(line, &number) && number > 0)
		ret->line = (uint32_t)number;
}

int elf_lines_find(struct elf_lines *l, uint64_t address, struct line_scope *ret, int max)
{
	const struct line_range *range = find_range(l->ranges, l->nranges, address);
	struct line_unit *unit = range ? &l->units[range->index] : NULL;
	Dwarf_Die *function, inlined[MAX_INLINED];
	int n, i;

	if (!unit || max < 1)
		return 0;
	memset(ret, 0, (size_t)max * sizeof(*ret));
	describe_line(unit, address, &ret[0]);
	function = find_function(unit, address);
	if (!function)
		return ret[0].file ? 1 : 0;
	n = find_inlined(function, address, inlined, MIN(max - 1, (int)MAX_INLINED));
	for (i = 0; i < n; i++) {	/* inlined[n - 1] is the innermost */
		Dwarf_Die *die = &inlined[n - 1 - i];

		describe_function(die, &ret[i]);
		describe_call(die, &ret[i + 1]);
	}
	describe_function(function, &ret[n]);
	return n + 1;
}
