#ifndef POINTSMAN_BENCH_HISTOGRAM_H
#define POINTSMAN_BENCH_HISTOGRAM_H

#include <stdint.h>

/* Histogram with buckets of a relative width of at most 1/64, so percentiles are exact to 1.6 %. */
#define SUB_BITS 6
#define BUCKETS (64 << SUB_BITS)
typedef struct {
  uint64_t counts[BUCKETS];
  uint64_t total, sum, most;
} histogram;

static int bucket_of(uint64_t value) {
  if (value < (1u << SUB_BITS)) {
    return (int)value;
  }
  int shift = 63 - __builtin_clzll(value) - SUB_BITS;
  return ((shift + 1) << SUB_BITS) + (int)((value >> shift) & ((1u << SUB_BITS) - 1));
}

static uint64_t bucket_value(int bucket) {
  if (bucket < (2 << SUB_BITS)) {
    return (uint64_t)bucket;
  }
  int shift = (bucket >> SUB_BITS) - 1;
  uint64_t low = ((1ULL << SUB_BITS) + ((uint64_t)bucket & ((1u << SUB_BITS) - 1))) << shift;
  return low + (1ULL << shift) / 2;
}

static void record(histogram *h, uint64_t value) {
  h->counts[bucket_of(value)]++;
  h->total++;
  h->sum += value;
  if (value > h->most) {
    h->most = value;
  }
}

/* Quantile of the values for a share of 0 to 1; 0 without values. */
static uint64_t percentile(const histogram *h, double share) {
  uint64_t rank = (uint64_t)(share * (double)h->total + 0.5), seen = 0;
  for (int i = 0; i < BUCKETS; i++) {
    seen += h->counts[i];
    if (h->counts[i] && seen >= rank) {
      uint64_t value = bucket_value(i);
      return value < h->most ? value : h->most;
    }
  }
  return 0;
}

#endif
