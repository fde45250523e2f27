/** Request tracing with OpenTelemetry; no other package uses its classes. */
@NullMarked
package io.pointsman.observe.tracing;

import org.jspecify.annotations.NullMarked;
