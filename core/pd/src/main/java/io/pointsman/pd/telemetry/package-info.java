/** Reports of requests that two workers serve. */
@NullMarked
package io.pointsman.pd.telemetry;

import org.jspecify.annotations.NullMarked;
