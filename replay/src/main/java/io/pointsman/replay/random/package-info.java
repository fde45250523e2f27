/** Workloads drawn at random: policies compared over many of them. */
@NullMarked
package io.pointsman.replay.random;

import org.jspecify.annotations.NullMarked;
