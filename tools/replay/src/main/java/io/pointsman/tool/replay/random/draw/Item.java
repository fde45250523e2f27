package io.pointsman.tool.replay.random.draw;

import org.jspecify.annotations.Nullable;

/**
 * A request before the rate is known: times are relative to the mean interval between requests.
 *
 * @param at arrival time from the beginning
 * @param after the request to wait for; null if none
 * @param pause time from its end to this arrival
 * @param output tokens of the response
 */
record Item(double at, @Nullable Item after, double pause, PromptText prompt, int output) {}
