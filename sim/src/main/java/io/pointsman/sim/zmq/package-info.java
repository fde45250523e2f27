/** What engines send to a router by ZeroMQ: registrations and notifications, in MessagePack. */
@NullMarked
package io.pointsman.sim.zmq;

import org.jspecify.annotations.NullMarked;
