/** Misbehaving clients by name, over sockets. */
@NullMarked
package io.pointsman.testkit.client;

import org.jspecify.annotations.NullMarked;
