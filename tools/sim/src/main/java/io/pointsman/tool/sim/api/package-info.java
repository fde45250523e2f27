/** The engine's HTTP endpoints, one file per family. */
@NullMarked
package io.pointsman.tool.sim.api;

import org.jspecify.annotations.NullMarked;
