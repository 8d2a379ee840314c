/*
 * C and C++ allocations through whatever allocator is there: counts and sizes are known; small blocks of 8 bytes lie close.
 */
#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include <new>
#include <string>
#include <thread>
#include <vector>

#include "truth.h"

struct alignas(64) wide {
	char bytes[192];
};

enum { N = 3000 };
static void *volatile kept[N];

extern "C" NOINLINE void by_new(int n)
{
	for (int i = 0; i < n; i++)
		kept[i] = ::operator new(24);
	for (int i = 0; i < n / 2; i++)
		::operator delete(kept[i]);
}

extern "C" NOINLINE void by_new_array(int n)
{
	for (int i = 0; i < n; i++) {
		char *volatile p = new char[100];

		if (i & 1)
			delete[] p;
	}
}

extern "C" NOINLINE void by_nothrow(int n)
{
	for (int i = 0; i < n; i++)
		::operator delete(kept[i] = ::operator new(40, std::nothrow), std::nothrow);
}

extern "C" NOINLINE void by_aligned_new(int n)
{
	for (int i = 0; i < n; i++) {
		wide *volatile w = new wide;

		if (i & 1)
			delete w;
	}
}

/* Blocks of 8 bytes: some allocators put two of them into 16 bytes. All live at once, freed in a mixed order. */
extern "C" NOINLINE void by_eight(int n)
{
	for (int i = 0; i < n; i++)
		kept[i] = malloc(8);
	for (int i = 0; i < n; i += 2)
		free(kept[i]);
	for (int i = n - 1; i > n / 2; i -= 2)
		free(kept[n - 1 - i | 1]);
}

extern "C" NOINLINE void by_realloc(int n)
{
	for (int i = 0; i < n; i++) {
		void *volatile p = malloc(10);

		p = realloc(p, 1000);
		p = realloc(p, 30);
		free(p);
	}
}

extern "C" NOINLINE void by_large(int n)
{
	for (int i = 0; i < n; i++) {
		char *p = (char *)malloc(3 << 20);

		p[0] = p[(3 << 20) - 1] = 1;
		p = (char *)realloc(p, 5 << 20);
		free(p);
	}
}

extern "C" NOINLINE void by_aligned(int n)
{
	void *p, *volatile q;

	for (int i = 0; i < n; i++) {
		if (posix_memalign(&p, 256, 50))
			say("posix_memalign\n");
		free(p);
		q = aligned_alloc(64, 128);
		free(q);
		p = calloc(3, 7);
		if (malloc_usable_size(p) < 21)
			say("usable\n");
		if (i & 1)
			free(p);
	}
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 0;
	std::vector<std::thread> others;

	by_new(N);
	by_new_array(N);
	by_nothrow(N);
	by_aligned_new(N);
	by_eight(N);
	by_realloc(N);
	by_large(20);
	for (int i = 0; i < threads; i++)
		others.emplace_back([] { by_aligned(N); });
	for (auto &t : others)
		t.join();
	truth("by_new", N, 24l * N, N / 2);
	truth("by_new_array", N, 100l * N, N / 2);
	truth("by_nothrow", N, 40l * N, N);
	truth("by_aligned_new", N, (long)sizeof(wide) * N, N / 2);
	truth("by_eight", N, 8l * N, N / 2 + N / 4);
	truth("by_realloc", 3l * N, 1040l * N, 3l * N);
	truth("by_large", 40, 8l * 20 << 20, 40);
	truth("by_aligned", 3l * N * threads, (50 + 128 + 21l) * N * threads, (2l * N + N / 2) * threads);
	return verdict("news", argc > 9 ? argv[9] : NULL);
}
