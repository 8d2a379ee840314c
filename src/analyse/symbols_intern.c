/*
 * symbols_intern - the hash table of the symbol code
 *
 * Frames, functions, addresses and strings are all interned, so one open-addressed table serves them: four words of
 * key (pointers to things interned before, numbers) and a pointer. Nothing is ever removed. Strings are keyed by their
 * hash and length; equal keys of different strings are told apart by a running number in the key.
 */
#include "analyse/symbols_intern.h"

#include <string.h>

static uint64_t mix(uint64_t h)
{
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	h ^= h >> 32;
	h *= 0xd6e8feb86659fd93u;
	return h ^ h >> 32;
}

static uint64_t hash_key(const uint64_t key[INTERN_WORDS])
{
	uint64_t h = 0;
	int i;

	for (i = 0; i < INTERN_WORDS; i++)
		h = mix(h + key[i] + 0x9e3779b97f4a7c15u);
	return h;
}

static struct intern_slot *intern_probe(struct intern *t, const uint64_t key[INTERN_WORDS])
{
	uint32_t mask = t->size - 1, i = (uint32_t)hash_key(key) & mask;

	while (t->slots[i].value && memcmp(t->slots[i].key, key, sizeof(t->slots[i].key)))
		i = (i + 1) & mask;
	return &t->slots[i];
}

static void intern_grow(struct intern *t, struct arena *a)
{
	struct intern old = *t;
	uint32_t i;

	t->size = old.size ? old.size * 2 : 256;
	t->slots = arena_alloc(a, t->size * sizeof(*t->slots));
	for (i = 0; i < old.size; i++)
		if (old.slots[i].value)
			*intern_probe(t, old.slots[i].key) = old.slots[i];
}

void **intern_slot(struct intern *t, struct arena *a, const uint64_t key[INTERN_WORDS])
{
	struct intern_slot *slot;

	if ((uint64_t)t->used * 4 >= (uint64_t)t->size * 3)
		intern_grow(t, a);
	slot = intern_probe(t, key);
	if (!slot->value) {
		memcpy(slot->key, key, sizeof(slot->key));
		t->used++;
	}
	return &slot->value;
}

const char *intern_string(struct intern *t, struct arena *a, const char *s)
{
	uint64_t key[INTERN_WORDS] = { 0xcbf29ce484222325u, strlen(s) };
	size_t i;

	for (i = 0; i < key[1]; i++)
		key[0] = (key[0] ^ (unsigned char)s[i]) * 0x100000001b3u;
	for (;; key[2]++) {
		void **slot = intern_slot(t, a, key);

		if (!*slot)
			*slot = arena_strndup(a, s, key[1]);
		if (!strcmp(*slot, s))
			return *slot;
	}
}
