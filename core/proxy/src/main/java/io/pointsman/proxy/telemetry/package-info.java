/** Events of the data plane for metrics, logs and traces. */
@NullMarked
package io.pointsman.proxy.telemetry;

import org.jspecify.annotations.NullMarked;
