/** The protocols for KV transfer: parsing of requests and contents of responses; no sockets. */
@NullMarked
package io.pointsman.tool.sim.kv.protocol;

import org.jspecify.annotations.NullMarked;
