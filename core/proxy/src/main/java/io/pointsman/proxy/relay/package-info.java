/** Relays of workers' answers to the client, with the signals read from them. */
@NullMarked
package io.pointsman.proxy.relay;

import org.jspecify.annotations.NullMarked;
