/** A second policy that decides on live traffic without effect on it. */
@NullMarked
package io.pointsman.engine.shadow;

import org.jspecify.annotations.NullMarked;
