/*
 * log - the slow end of writing events
 *
 * A log is a ring of pieces that grows while the collector is behind and never shrinks. When a piece is full the writer goes
 * on to the next one of the ring if the collector has emptied it, else it inserts a new one; where there is no memory left
 * either, the event is lost, and the next one tries again.
 */
#include "collect/agent/agent.h"

static struct shared_log_piece *piece_new(uint64_t *ret_offset)
{
	uint64_t offset = arena_take(sizeof(struct shared_log_piece));

	*ret_offset = offset;
	return offset ? arena_at(offset) : NULL;
}

static bool log_first(struct thread *t, struct log *log, enum shared_log_index index)
{
	uint64_t offset = atomic_load(&t->shared->log[index]);

	if (offset)
		return false;	/* the ring is full */
	log->piece = piece_new(&offset);
	if (!log->piece)
		return false;
	log->piece->next = offset;	/* a ring of one */
	log->at = 0;
	atomic_store_explicit(&t->shared->log[index], offset, memory_order_release);
	return true;
}

bool log_room_slow(struct thread *t, struct log *log, enum shared_log_index index, uint32_t n)
{
	struct shared_log_piece *old = log->piece, *piece;
	uint64_t offset;

	if (!old)
		return log_first(t, log, index);
	offset = old->next;
	piece = arena_at(offset);
	if (piece != old && atomic_load_explicit(&piece->free, memory_order_acquire)) {
		atomic_store_explicit(&piece->free, 0, memory_order_relaxed);
	} else {
		piece = piece_new(&offset);
		if (!piece)
			return false;
		piece->next = old->next;
		old->next = offset;
	}
	log->piece = piece;
	log->at = 0;
	atomic_store_explicit(&old->moved_to, offset, memory_order_release);
	return true;
}
