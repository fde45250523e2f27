/** ZeroMQ's wire protocol, ZMTP 3.0: one codec for both sides of a connection. */
@NullMarked
package io.pointsman.control.zmtp;

import org.jspecify.annotations.NullMarked;
