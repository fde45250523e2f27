/** Benchmarks, each a command of {@code ./pointsman bench}. Never shipped. */
@NullMarked
package io.pointsman.bench;

import org.jspecify.annotations.NullMarked;
