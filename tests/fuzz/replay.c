/*
 * replay - runs a fuzzer's function over files, so that ordinary builds keep what fuzzing has found
 *
 * usage: replay FILE|FOLDER...; each file is given as a heap block of its exact size.
 */
#include <errno.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static int replayed;

static int replay(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	size_t size = (size_t)st->st_size;
	uint8_t *bytes;
	FILE *f;

	if (type != FTW_F)
		return 0;
	f = fopen(path, "re");
	bytes = malloc(size ? size : 1);
	if (!f || !bytes || fread(bytes, 1, size, f) != size) {
		fprintf(stderr, "replay: %s: %s\n", path, strerror(errno));
		exit(1);
	}
	fclose(f);
	/* So that a crash names its file. */
	printf("%s\n", path);
	fflush(stdout);
	LLVMFuzzerTestOneInput(bytes, size);
	free(bytes);
	replayed++;
	return 0;
}

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (nftw(argv[i], replay, 8, FTW_PHYS) != 0) {
			fprintf(stderr, "replay: %s: %s\n", argv[i], strerror(errno));
			return 1;
		}
	printf("%d files replayed\n", replayed);
	return replayed ? 0 : 1;
}
