/** Engines that answer as scripted, and faults by name, over plain sockets on virtual threads. */
@NullMarked
package io.pointsman.testkit.engine;

import org.jspecify.annotations.NullMarked;
