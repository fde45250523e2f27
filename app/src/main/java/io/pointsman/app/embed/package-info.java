/** Embedding of the router, or of its engine, in another program. */
@NullMarked
package io.pointsman.app.embed;

import org.jspecify.annotations.NullMarked;
