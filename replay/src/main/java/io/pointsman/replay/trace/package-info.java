/** What is replayed: recorded traces and made-up workloads. */
@NullMarked
package io.pointsman.replay.trace;

import org.jspecify.annotations.NullMarked;
