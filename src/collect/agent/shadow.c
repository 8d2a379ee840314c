/*
 * shadow - which call-tree node allocated the block at an address
 *
 * An array indexed by address: one 8-byte cell for each granule (16 bytes with glibc's malloc, 8 where an allocator aligns
 * small blocks to 8), so that a look-up is three loads and no hashing, and two threads meet in a cell only when they are
 * about the same block, where the allocator itself orders them. Regions of 16 MiB get their part of the array when a first
 * block appears in them: a program whose addresses are limited (ulimit -v) loses few. It is private memory: after fork the child has its own copy, and knows inherited blocks by their
 * node's number.
 *
 * Blocks of 1 MiB and more keep the upper part of their size in the cell of their second granule, which no other block can
 * own. Times are modulo 2^AGE_BITS units: an age is true for ages below that (minutes).
 */
#include <sys/mman.h>
#include <sys/syscall.h>

#include "collect/agent/agent.h"

enum {
	REGION_SHIFT = 24,
	GROUP_SHIFT = 34,	/* a group has 2^10 regions */
	ADDRESS_BITS = 47,
	CELL_SIZE_BITS = 64 - EVENT_NODE_BITS - AGE_BITS,	/* 20 */
};

/* A cell: bits 63..44 time, 43..20 node, 19..0 size; all ones in size: large. Node numbers of blocks are never 0 here:
 * NODE_LOST is kept as NODE_ROOT, which no block has otherwise. */
static const uint64_t LARGE = EVENT_MASK(CELL_SIZE_BITS);

struct group {
	_Atomic(_Atomic uint64_t *) regions[1 << (GROUP_SHIFT - REGION_SHIFT)];
};

static _Atomic(struct group *) groups[1 << (ADDRESS_BITS - GROUP_SHIFT)];
static unsigned granule;

void shadow_init(unsigned granule_shift)
{
	granule = granule_shift;
}

/* Enters @fresh into @place unless another thread was quicker; Return: what is there. */
static void *enter_first(_Atomic(void *) *place, void *fresh, size_t bytes)
{
	void *none = NULL;

	if (!fresh || atomic_compare_exchange_strong(place, &none, fresh))
		return fresh;
	arch_syscall3(SYS_munmap, (long)fresh, (long)bytes, 0);	/* never touched, by nobody */
	return none;
}

static COLD _Atomic uint64_t *region_new(uintptr_t address)
{
	_Atomic(struct group *) *place = &groups[address >> GROUP_SHIFT];
	struct group *group = atomic_load(place);
	size_t bytes = sizeof(uint64_t) << (REGION_SHIFT - granule);
	_Atomic uint64_t *fresh;

	if (!group)
		group = enter_first((_Atomic(void *) *)place, private_map(sizeof(*group)), sizeof(*group));
	if (!group)
		return NULL;
	fresh = private_map(bytes);
	/* whole pages of it are touched by few blocks: huge pages would cost memory that nobody asked for */
	if (fresh)
		arch_syscall3(SYS_madvise, (long)fresh, (long)bytes, MADV_NOHUGEPAGE);
	return enter_first((_Atomic(void *) *)&group->regions[address >> REGION_SHIFT & (ARRAY_SIZE(group->regions) - 1)],
			   fresh, bytes);
}

static inline _Atomic uint64_t *cell_of(uintptr_t address, bool make)
{
	_Atomic uint64_t *region = NULL;
	struct group *group;

	if (UNLIKELY(address >> ADDRESS_BITS))
		return NULL;
	group = atomic_load_explicit(&groups[address >> GROUP_SHIFT], memory_order_acquire);
	if (LIKELY(group != NULL))
		region = atomic_load_explicit(&group->regions[address >> REGION_SHIFT & (ARRAY_SIZE(group->regions) - 1)],
					      memory_order_acquire);
	if (UNLIKELY(!region)) {
		if (!make)
			return NULL;
		region = region_new(address);
		if (!region)
			return NULL;
	}
	return region + ((address & EVENT_MASK(REGION_SHIFT)) >> granule);
}

void shadow_put(uintptr_t address, const struct block *block)
{
	_Atomic uint64_t *cell = cell_of(address, true), *second;
	uint64_t node = block->node == NODE_LOST ? NODE_ROOT : block->node, size = block->size;

	if (UNLIKELY(!cell))
		return;
	if (UNLIKELY(size >= LARGE)) {
		second = cell_of(address + ((uintptr_t)1 << granule), true);
		if (!second)
			return;
		atomic_store_explicit(second, size, memory_order_relaxed);
		size = LARGE;
	}
	atomic_store_explicit(cell, (uint64_t)block->age_time << (64 - AGE_BITS) | node << CELL_SIZE_BITS | size,
			      memory_order_relaxed);
}

struct block shadow_take(uintptr_t address)
{
	_Atomic uint64_t *cell = cell_of(address, false), *second;
	struct block block = { 0 };
	uint64_t word;

	if (UNLIKELY(!cell))
		return block;
	word = atomic_load_explicit(cell, memory_order_relaxed);
	if (UNLIKELY(!word))
		return block;
	atomic_store_explicit(cell, 0, memory_order_relaxed);
	block.live = true;
	block.age_time = (uint32_t)(word >> (64 - AGE_BITS));
	block.node = (uint32_t)(word >> CELL_SIZE_BITS & EVENT_MASK(EVENT_NODE_BITS));
	if (block.node == NODE_ROOT)
		block.node = NODE_LOST;
	block.size = word & LARGE;
	if (UNLIKELY(block.size == LARGE)) {
		second = cell_of(address + ((uintptr_t)1 << granule), false);
		block.size = second ? atomic_exchange_explicit(second, 0, memory_order_relaxed) : 0;
	}
	return block;
}
