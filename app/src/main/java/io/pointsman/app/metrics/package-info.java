/** Prometheus metrics on a separate port. */
@NullMarked
package io.pointsman.app.metrics;

import org.jspecify.annotations.NullMarked;
