/* load.cc SECONDS/100 - recursion, templates, names that exporters have to escape, two threads; CPU and heap */
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

static volatile unsigned sink;

template <typename T, int N> __attribute__((noinline)) void spin(T rounds)
{
	for (T i = 0; i < rounds; i++)
		sink = sink * 1103515245u + N;
}

__attribute__((noinline)) static void deep(int n)
{
	if (n) {
		deep(n - 1);
		sink = sink + 1;
		return;
	}
	spin<long, 7>(20000);
	free(malloc(100));
}

struct Work {
	std::map<std::string, std::vector<int>> kept;

	__attribute__((noinline)) void operator()(int i)
	{
		kept["a key that is too long to lie in the string, number " + std::to_string(i % 50)].push_back(i);
		spin<int, 11>(10000);
	}
};

static double cpu_seconds()
{
	struct timespec now;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

static void work(double seconds)
{
	Work *w = new Work;	/* never freed */
	double end = cpu_seconds() + seconds;

	for (int i = 0; cpu_seconds() < end; i++) {
		deep(i % 100);
		(*w)(i);
	}
	/* a lambda and a template in a lambda: braces, commas, spaces */
	[](auto rounds) { spin<decltype(rounds), 13>(rounds * 100000); }(30L);
}

int main(int argc, char **argv)
{
	double seconds = (argc > 1 ? std::atoi(argv[1]) : 30) / 100.0;
	std::thread other(work, seconds / 2);

	work(seconds);
	other.join();
	return 0;
}
