/** Benchmarks, each a command of {@code ./pointsman bench}. Not part of a release. */
@NullMarked
package io.pointsman.tool.bench;

import org.jspecify.annotations.NullMarked;
