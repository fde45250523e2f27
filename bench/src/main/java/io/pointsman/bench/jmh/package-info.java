/** JMH benchmarks of the hot paths. */
@NullMarked
package io.pointsman.bench.jmh;

import org.jspecify.annotations.NullMarked;
