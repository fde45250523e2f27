/** Traces of single requests, by OpenTelemetry; nothing else in the program sees its classes. */
@NullMarked
package io.pointsman.app.tracing;

import org.jspecify.annotations.NullMarked;
