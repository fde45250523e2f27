/** Messages from engines to a router by ZeroMQ: registrations, notifications and KV events. */
@NullMarked
package io.pointsman.tool.sim.zmq;

import org.jspecify.annotations.NullMarked;
