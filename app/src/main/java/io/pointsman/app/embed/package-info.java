/** The router, or its engine alone, within another program. */
@NullMarked
package io.pointsman.app.embed;

import org.jspecify.annotations.NullMarked;
