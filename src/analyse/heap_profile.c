/*
 * heap_profile - the heap's answers from the sums by node
 */
#include "analyse/heap.h"

#include <stdlib.h>
#include <string.h>

#include "analyse/resolve.h"
#include "base/util.h"

static void sums_add(struct heap_sums *a, const struct heap_sums *b)
{
	a->calls += b->calls;
	a->bytes += b->bytes;
	a->frees += b->frees;
	a->peak_bytes += b->peak_bytes;
	a->never_freed_bytes += b->never_freed_bytes;
	a->never_freed_calls += b->never_freed_calls;
	a->temporary += b->temporary;
}

static struct heap_sums sums_of_node(const struct node_sums *n)
{
	return (struct heap_sums){
		.calls = n->calls,
		.bytes = n->bytes,
		.frees = n->frees,
		.peak_bytes = (uint64_t)MAX(n->peak_bytes, 0),
		/* below 0 only where an allocation was lost and its free was not */
		.never_freed_bytes = n->bytes > n->freed_bytes ? n->bytes - n->freed_bytes : 0,
		.never_freed_calls = n->calls > n->frees ? n->calls - n->frees : 0,
		.temporary = n->temporary,
	};
}

static int site_order(const void *a, const void *b)
{
	const struct heap_site *x = a, *y = b;

	if (x->sums.never_freed_bytes != y->sums.never_freed_bytes)
		return x->sums.never_freed_bytes > y->sums.never_freed_bytes ? -1 : 1;
	if (x->sums.bytes != y->sums.bytes)
		return x->sums.bytes > y->sums.bytes ? -1 : 1;
	return x->leaf->id < y->leaf->id ? -1 : x->leaf->id > y->leaf->id;
}

static int function_order(const void *a, const void *b)
{
	const struct heap_function *x = a, *y = b;

	if (x->total.bytes != y->total.bytes)
		return x->total.bytes > y->total.bytes ? -1 : 1;
	return x->function->id < y->function->id ? -1 : x->function->id > y->function->id;
}

static void sums_of_process(struct resolve *r, struct process *p, struct heap_sums *by_id)
{
	const struct node_sums *sums;
	struct heap_sums add;
	size_t page, i;

	for (page = 0; page < p->npages; page++)
		for (i = 0; p->pages[page] && i < PAGE_NODES; i++) {
			sums = &p->pages[page]->sums[i];
			if (!sums->calls && !sums->frees)
				continue;
			add = sums_of_node(sums);
			sums_add(&by_id[resolve_leaf(r, p, (uint32_t)(page << PAGE_BITS | i))->id], &add);
		}
}

/*
 * What the counters know and no event tells: lost for want of room, or not yet in the file when its writer was killed. They
 * become a site of their own, so that columns keep their totals. What of it was freed again is known by number only.
 */
static uint64_t heap_lost(const struct load *l, const struct heap_sums *seen, struct heap_sums *ret)
{
	uint64_t calls = 0, frees = 0, bytes = 0, lost = 0, most;
	size_t i;

	for (i = 0; i < l->nprocesses; i++) {
		if (!l->processes[i] || !l->processes[i]->has_counters)
			continue;
		calls += l->processes[i]->counters.calls;
		frees += l->processes[i]->counters.frees;
		bytes += l->processes[i]->counters.bytes;
		lost += l->processes[i]->counters.lost_heap_events;
	}
	*ret = (struct heap_sums){
		.calls = calls > seen->calls ? calls - seen->calls : 0,
		.frees = frees > seen->frees ? frees - seen->frees : 0,
		.bytes = bytes > seen->bytes ? bytes - seen->bytes : 0,
	};
	most = l->has_end ? lost : UINT64_MAX;
	ret->calls = MIN(ret->calls, most);
	ret->frees = MIN(ret->frees, most - ret->calls);
	if (!ret->calls)
		ret->bytes = 0;
	ret->never_freed_calls = ret->calls > ret->frees ? ret->calls - ret->frees : 0;
	return MAX(lost, ret->calls + ret->frees);
}

static void heap_sites(struct heap_profile *hp, const struct tree *tree, const struct heap_sums *by_id, struct arena *arena)
{
	static const struct heap_sums none;
	size_t i;

	hp->sites = arena_alloc(arena, tree->n * sizeof(*hp->sites));
	for (i = 0; i < tree->n; i++)
		if (memcmp(&by_id[i], &none, sizeof(none)))
			hp->sites[hp->nsites++] = (struct heap_site){ tree->nodes[i], by_id[i] };
	qsort(hp->sites, hp->nsites, sizeof(*hp->sites), site_order);
}

static void heap_functions(struct heap_profile *hp, const struct tree *tree, struct heap_sums *by_id,
			   struct heap_sums *totals, uint32_t nfunctions, struct arena *arena)
{
	const struct function *function;
	struct heap_function *all;
	uint32_t k;
	size_t i;

	all = arena_alloc(arena, ((size_t)nfunctions + 1) * sizeof(*all));
	memcpy(totals, by_id, tree->n * sizeof(*totals));
	for (i = tree->n; i-- > 1;) {
		function = tree->nodes[i]->frame->function;
		all[function->id].function = function;
		sums_add(&all[function->id].self, &by_id[i]);
		if (!tree->nodes[i]->recursive)
			sums_add(&all[function->id].total, &totals[i]);
		sums_add(&totals[tree->nodes[i]->parent->id], &totals[i]);
	}
	for (k = 0; k < nfunctions; k++)
		if (all[k].function && (all[k].total.calls || all[k].total.frees))
			all[hp->nfunctions++] = all[k];
	qsort(all, hp->nfunctions, sizeof(*all), function_order);
	hp->functions = all;
}

struct heap_profile *heap_profile_new(struct heap *h, struct resolve *r, struct arena *arena, uint64_t *ret_lost)
{
	struct heap_profile *hp = arena_alloc(arena, sizeof(*hp));
	CLEANUP_FREE struct heap_sums *by_id = NULL, *totals = NULL;
	struct load *l = h->load;
	struct heap_sums lost;
	size_t i;

	resolve_lost(r);	/* before the tree is measured */
	by_id = calloc(r->tree->n + 3, sizeof(*by_id));
	totals = calloc(r->tree->n + 3, sizeof(*totals));
	if (!by_id || !totals)
		arena_no_memory();
	for (i = 0; i < l->nprocesses; i++)
		if (l->processes[i])
			sums_of_process(r, l->processes[i], by_id);
	for (i = 0; i < r->tree->n; i++)
		sums_add(&hp->sums, &by_id[i]);
	*ret_lost = heap_lost(l, &hp->sums, &lost);
	sums_add(&by_id[resolve_lost(r)->id], &lost);
	sums_add(&hp->sums, &lost);

	for (i = 0; i < l->nprocesses; i++) {
		if (!l->processes[i])
			continue;
		hp->failed += l->processes[i]->counters.failed;
		hp->inherited_frees += l->processes[i]->counters.inherited_frees;
		hp->unknown_frees += l->processes[i]->counters.unknown_frees;
	}
	/* by node a free cannot come before its allocation; where the order said so, the sum without it is the truer one */
	hp->peak_bytes = hp->sums.peak_bytes;
	hp->peak_at_ns = load_ns(l, h->peak_ticks);
	hp->peak_uncertain_bytes = MAX(h->uncertain_bytes, hp->peak_bytes - MIN(h->peak_bytes, hp->peak_bytes));
	memcpy(hp->ages, h->ages, sizeof(hp->ages));
	hp->sample_bytes = l->run.heap_sample_bytes;
	hp->points = h->points;
	hp->npoints = h->npoints;
	heap_sites(hp, r->tree, by_id, arena);
	heap_functions(hp, r->tree, by_id, totals, symbols_functions(l->symbols), arena);
	return hp;
}
