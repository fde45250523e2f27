package io.pointsman.tool.bench.split;

/**
 * Workload and fleet of {@code bench pd-sweep}.
 *
 * @param prefills number of prefill engines
 * @param decodes number of decode engines
 * @param rate sessions per second of engine time
 * @param seconds engine seconds in which sessions start
 * @param speed engine seconds per second
 * @param seed seed of the workload
 */
record SweepOptions(
    int prefills, int decodes, double rate, double seconds, double speed, long seed) {}
