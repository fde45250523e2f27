/** Edits of JSON bodies that leave all other bytes unchanged. */
@NullMarked
package io.pointsman.request.splice;

import org.jspecify.annotations.NullMarked;
