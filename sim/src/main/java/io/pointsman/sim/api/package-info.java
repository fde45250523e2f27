/** The engine's HTTP endpoints, one file per family. */
@NullMarked
package io.pointsman.sim.api;

import org.jspecify.annotations.NullMarked;
