/** Benchmarks, each a command of {@code ./pointsman bench}. Not part of a release. */
@NullMarked
package io.pointsman.bench;

import org.jspecify.annotations.NullMarked;
