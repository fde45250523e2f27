/** JMH benchmarks of the hot paths. */
@NullMarked
package io.pointsman.tool.bench.jmh;

import org.jspecify.annotations.NullMarked;
