/* find.c - which object, and which FDE of it, covers an address
 *
 * glibc's _dl_find_object() (2.35) is the only question the loader answers without a lock: dl_iterate_phdr() and dladdr() wait
 * for locks that a thread inside dlopen() holds. Where it is missing no object is known, and every walk ends broken.
 *
 * Code made at run time is known by __register_frame() only; whoever interposes it tells walk_frames_register(). Its places
 * are claimed by compare-and-swap and their memory is never unmapped, so that a search may run at any time.
 */
#include "walk/find.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdatomic.h>

#include "walk/memory.h"

extern __typeof__(_dl_find_object) _dl_find_object __attribute__((weak));

enum { PLACES = 126 };	/* in a page */

struct place {
	_Atomic(const uint8_t *) eh_frame;	/* NULL: free */
	_Atomic uint64_t low, high, size;	/* high 0: not yet known */
};

struct place_chunk {
	struct place place[PLACES];
	_Atomic(struct place_chunk *) next;
};

static struct place_chunk first_chunk;
static _Atomic(void (*)(const struct walk_object *)) on_object;

void walk_on_object(void (*fn)(const struct walk_object *object))
{
	atomic_store_explicit(&on_object, fn, memory_order_release);
}

static struct place *place_of(uint64_t pc)
{
	for (struct place_chunk *c = &first_chunk; c; c = atomic_load_explicit(&c->next, memory_order_acquire))
		for (int i = 0; i < PLACES; i++)
			if (pc < atomic_load_explicit(&c->place[i].high, memory_order_acquire) &&
			    pc >= atomic_load_explicit(&c->place[i].low, memory_order_relaxed))
				return &c->place[i];
	return NULL;
}

static struct place *place_claim(const uint8_t *eh_frame)
{
	for (struct place_chunk *c = &first_chunk;;) {
		struct place_chunk *next;

		for (int i = 0; i < PLACES; i++) {
			const uint8_t *none = NULL;

			if (atomic_compare_exchange_strong(&c->place[i].eh_frame, &none, eh_frame))
				return &c->place[i];
		}
		next = atomic_load_explicit(&c->next, memory_order_acquire);
		if (!next) {
			struct place_chunk *expected = NULL, *fresh = memory_map(sizeof(*fresh));

			if (!fresh)
				return NULL;
			next = fresh;
			if (!atomic_compare_exchange_strong(&c->next, &expected, fresh))
				next = expected;	/* the fresh one is lost: a race once a chunk */
		}
		c = next;
	}
}

int walk_frames_register(const void *eh_frame)
{
	struct cfi_input in = { .data = eh_frame, .size = 1ull << 40, .addr = (uint64_t)eh_frame };
	uint64_t low, high, size;
	struct place *p;
	int error = cfi_extent(&in, 0, &low, &high, &size);

	if (error)
		return error < 0 ? error : 0;
	p = place_claim(eh_frame);
	if (!p)
		return -ENOMEM;
	atomic_store_explicit(&p->low, low, memory_order_relaxed);
	atomic_store_explicit(&p->size, size, memory_order_relaxed);
	atomic_store_explicit(&p->high, high, memory_order_release);
	return 0;
}

void walk_frames_deregister(const void *eh_frame)
{
	for (struct place_chunk *c = &first_chunk; c; c = atomic_load_explicit(&c->next, memory_order_acquire))
		for (int i = 0; i < PLACES; i++)
			if (atomic_load_explicit(&c->place[i].eh_frame, memory_order_relaxed) == eh_frame) {
				atomic_store_explicit(&c->place[i].high, 0, memory_order_release);
				atomic_store_explicit(&c->place[i].eh_frame, NULL, memory_order_release);
				return;
			}
}

static int find_registered(uint64_t pc, struct cfi_input *ret_in, uint64_t *ret_fde)
{
	struct place *p = place_of(pc);
	struct cfi_input in = { 0 };

	if (!p)
		return FIND_NO_OBJECT;
	in.data = atomic_load_explicit(&p->eh_frame, memory_order_relaxed);
	in.size = atomic_load_explicit(&p->size, memory_order_relaxed);
	in.addr = (uint64_t)in.data;
	if (!in.data || cfi_scan(&in, 0, pc, ret_fde) != CFI_FOUND)
		return FIND_NO_FDE;
	*ret_in = in;
	return FIND_FDE;
}

bool find_object(uint64_t pc)
{
	struct dl_find_object object;

	return (_dl_find_object && _dl_find_object((void *)pc, &object) == 0) || place_of(pc);
}

int find_fde(uint64_t pc, struct cfi_input *ret_in, uint64_t *ret_fde)
{
	void (*tell)(const struct walk_object *) = atomic_load_explicit(&on_object, memory_order_acquire);
	struct dl_find_object object;
	struct cfi_input in;
	uint64_t start;

	if (!_dl_find_object || _dl_find_object((void *)pc, &object) != 0)
		return find_registered(pc, ret_in, ret_fde);
	start = (uint64_t)object.dlfo_map_start;
	in.data = object.dlfo_map_start;
	in.size = (uint64_t)object.dlfo_map_end - start;
	in.addr = start;
	in.data_base = (uint64_t)object.dlfo_eh_frame;
	if (tell) {
		struct walk_object met = { .start = start, .end = start + in.size };

		met.bias = object.dlfo_link_map ? object.dlfo_link_map->l_addr : 0;
		met.path = object.dlfo_link_map && object.dlfo_link_map->l_name ? object.dlfo_link_map->l_name : "";
		tell(&met);
	}
	if (!object.dlfo_eh_frame || cfi_find(&in, in.data_base - start, pc, ret_fde) != CFI_FOUND)
		return FIND_NO_FDE;
	*ret_in = in;
	return FIND_FDE;
}
