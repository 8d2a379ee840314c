/* export_formats.h - one function a format; private to render/ */
#ifndef TARE_RENDER_EXPORT_FORMATS_H
#define TARE_RENDER_EXPORT_FORMATS_H

#include "render/export.h"

/* google/pprof proto/profile.proto, gzipped */
int export_pprof(const struct profile *p, enum export_what what, struct out *out);
/* "root;...;leaf N": samples, or bytes allocated */
int export_folded(const struct profile *p, enum export_what what, struct out *out);
/* speedscope's file-format-schema.json: one profile a thread, or one each of bytes allocated and never freed */
int export_speedscope(const struct profile *p, enum export_what what, struct out *out);
/* RFC 4180; one row a stack */
int export_csv(const struct profile *p, enum export_what what, struct out *out);

/**
 * export_ns - CPU time of the next @samples of a list, so that the list's sum is that of all its samples, rounded once
 * @before: samples of the list so far; updated
 */
uint64_t export_ns(const struct cpu_profile *c, uint64_t *before, uint64_t samples);

/** export_cost_sentence - "tare 0.1.0: measuring cost 1.29 % of CPU" for formats that have a place for a remark */
void export_cost_sentence(const struct profile *p, struct out *out);

#endif
