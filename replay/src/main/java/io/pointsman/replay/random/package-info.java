/** Random workloads, and comparisons of policies over many of them. */
@NullMarked
package io.pointsman.replay.random;

import org.jspecify.annotations.NullMarked;
