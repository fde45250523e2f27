/** What the engine answers: one file per family of endpoints. */
@NullMarked
package io.pointsman.sim.api;

import org.jspecify.annotations.NullMarked;
