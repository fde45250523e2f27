/**
 * Data that prefill and decode engines need about each other, received from them by ZeroMQ or
 * queried over HTTP.
 */
@NullMarked
package io.pointsman.control.peers;

import org.jspecify.annotations.NullMarked;
