/** Handling of requests that need more than the choice of one worker. */
@NullMarked
package io.pointsman.proxy.handler;

import org.jspecify.annotations.NullMarked;
