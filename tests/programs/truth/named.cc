/*
 * named.cc - stacks of templates, inlined functions, lambdas, operators and namespaces; each prints "site BYTES ADDRESS...":
 * a number of bytes that only its innermost call asks for, and the addresses (return address minus one, as the object file counts) of
 * that call's stack up to main
 */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <execinfo.h>
#include <link.h>

#define INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

void *volatile kept[64];
static int nkept;

static unsigned long bias()
{
	unsigned long found = 0;

	dl_iterate_phdr([](struct dl_phdr_info *info, size_t, void *to) { *static_cast<unsigned long *>(to) = info->dlpi_addr; return 1; }, &found);
	return found;
}

static unsigned long main_start;

/* Where it stands it is inlined: the call of malloc lies in its caller, at a line of this function. The stack is taken by a call next to it;
   so the innermost address is that of malloc's return, told by the label. */
#define TAKE(size)                                                                                          \
	do {                                                                                                \
		void *pc[64];                                                                               \
		int n_ = backtrace(pc, 64);                                                                 \
		kept[nkept++] = malloc(size); std::printf("site %d", (int)(size));                          \
		tell(pc, n_);                                                                               \
	} while (0)

static NOINLINE void tell(void **pc, int n)
{
	/* pc[0] lies in the function that took it, on the line of the call of malloc: TAKE is one line */
	for (int i = 0; i < n; i++) {
		unsigned long at = reinterpret_cast<unsigned long>(pc[i]) - 1 - bias();
		Dl_info info;

		std::printf(" 0x%lx", at);
		if (dladdr(pc[i], &info) && info.dli_saddr && reinterpret_cast<unsigned long>(info.dli_saddr) == main_start)
			break;
	}
	std::printf("\n");
}

namespace outer::inner {
template <typename T> struct Holder {
	T value;

	NOINLINE void operator()(int size) const
	{
		TAKE(static_cast<size_t>(size)); asm volatile("");
	}
	static INLINE void hidden(const Holder &h, int size)
	{
		h(size + static_cast<int>(h.value)); asm volatile("");
	}
};
} // namespace outer::inner

using outer::inner::Holder;

static INLINE void deepest(int size)
{
	TAKE(static_cast<size_t>(size)); asm volatile("");
}

static INLINE void deeper(int size)
{
	deepest(size + 1); asm volatile("");
}

static NOINLINE void inlines(int size)
{
	deeper(size + 1); asm volatile("");
}

template <typename F> static NOINLINE void call(F f, int size)
{
	f(size); asm volatile("");
}

namespace {
class Hidden {
public:
	virtual ~Hidden() = default;
	virtual NOINLINE void method(int size)
	{
		inlines(size); asm volatile("");
	}
};
} // namespace

int main()
{
	Holder<double> numbers{ 3 };
	Holder<char> letters{ 1 };
	Hidden hidden;
	Hidden *volatile object = &hidden;
	void *first[4];

	main_start = reinterpret_cast<unsigned long>(&main);
	backtrace(first, 4);
	numbers(10007);
	Holder<char>::hidden(letters, 20011);
	inlines(30011);
	call([](int size) { inlines(size); asm volatile(""); }, 40009);
	call(numbers, 50021);
	object->method(60013);
	return nkept == 0;
}
