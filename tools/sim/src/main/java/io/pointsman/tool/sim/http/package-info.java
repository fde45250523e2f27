/** The engine's HTTP layer, without knowledge of models: connections, exchanges, event streams. */
@NullMarked
package io.pointsman.tool.sim.http;

import org.jspecify.annotations.NullMarked;
