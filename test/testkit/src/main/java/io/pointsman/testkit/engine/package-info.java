/** Scripted engines and faults by name, over sockets and virtual threads. */
@NullMarked
package io.pointsman.testkit.engine;

import org.jspecify.annotations.NullMarked;
