package io.pointsman.replay.random.draw;

import org.jspecify.annotations.Nullable;

/**
 * A request before the rate is known: times in parts of the mean time between two requests.
 *
 * @param at when it comes, from the beginning
 * @param after the request whose end it waits for; null if it waits for none
 * @param pause time from that end to its arrival
 * @param output tokens of the answer
 */
record Item(double at, @Nullable Item after, double pause, Text prompt, int output) {}
