/** Choice for planes that carry the bytes themselves: choose, confirm, renew, settle. */
@NullMarked
package io.pointsman.engine.choice;

import org.jspecify.annotations.NullMarked;
