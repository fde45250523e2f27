/** Settings of the client's side: limits, timeouts, header lines, other origins. */
@NullMarked
package io.pointsman.proxy.settings;

import org.jspecify.annotations.NullMarked;
