// throw.cc - an exception through some frames with destructors, for oracle.c
#include <cstdio>

namespace {
struct Guard {
	int *count;
	~Guard() { ++*count; }
};

__attribute__((noinline)) int down(int depth, int *count)
{
	Guard guard{count};

	if (depth == 0)
		throw depth + 7;
	return down(depth - 1, count) + 1;
}
}

extern "C" int throw_and_catch(int depth)
{
	int count = 0;

	try {
		return down(depth, &count);
	} catch (int n) {
		return n + count;
	}
}
