/** What the data plane tells of the requests it serves. */
@NullMarked
package io.pointsman.proxy.telemetry;

import org.jspecify.annotations.NullMarked;
