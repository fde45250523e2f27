/** Prometheus metrics on a listener of their own. */
@NullMarked
package io.pointsman.app.metrics;

import org.jspecify.annotations.NullMarked;
