/** The built-in data plane: receives requests by HTTP, chooses a worker, forwards and streams. */
@NullMarked
package io.pointsman.proxy;

import org.jspecify.annotations.NullMarked;
