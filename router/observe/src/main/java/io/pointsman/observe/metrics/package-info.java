/** Prometheus metrics on a separate port. */
@NullMarked
package io.pointsman.observe.metrics;

import org.jspecify.annotations.NullMarked;
