/** Embedding of the router, or of its engine, in another program. */
@NullMarked
package io.pointsman.server.embed;

import org.jspecify.annotations.NullMarked;
