/**
 * The engine's HTTP surface, free of any knowledge of models: connections, exchanges, event
 * streams.
 */
@NullMarked
package io.pointsman.sim.http;

import org.jspecify.annotations.NullMarked;
