package io.pointsman.bench.split;

/**
 * The workload and the fleet.
 *
 * @param rate sessions per second of engine time
 * @param seconds of engine time in which sessions begin
 * @param speed engine seconds per second
 */
record SweepOptions(
    int prefills, int decodes, double rate, double seconds, double speed, long seed) {}
