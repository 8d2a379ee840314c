/* odd_new.cc - aligned new of sizes that are no multiple of the alignment */
#include <cstdio>
#include <new>

int main(int argc, char **)
{
	for (int i = 0; i < 100; i++)
		::operator delete(::operator new(100 + argc, std::align_val_t(64)), std::align_val_t(64));
	return 0;
}
