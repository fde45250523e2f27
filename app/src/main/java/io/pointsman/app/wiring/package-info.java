/** Puts the router together: the only place that makes adapters, clocks and dice. */
@NullMarked
package io.pointsman.app.wiring;

import org.jspecify.annotations.NullMarked;
