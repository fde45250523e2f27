/** Clients that misbehave, by name, over plain sockets. */
@NullMarked
package io.pointsman.testkit.client;

import org.jspecify.annotations.NullMarked;
