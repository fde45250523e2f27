/** Learns what prefill and decode engines must know of each other, and hears of them by ZeroMQ. */
@NullMarked
package io.pointsman.app.peers;

import org.jspecify.annotations.NullMarked;
