/** Asks the engines how they are: health, models, stalls. Blocking code on virtual threads. */
@NullMarked
package io.pointsman.app.health;

import org.jspecify.annotations.NullMarked;
