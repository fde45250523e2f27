/** The strategies for requests to one worker: any worker, or the one with a stored response. */
@NullMarked
package io.pointsman.proxy.strategy;

import org.jspecify.annotations.NullMarked;
