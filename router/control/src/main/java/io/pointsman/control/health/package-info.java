/**
 * Requests of the router to the engines: health, models, cache size. Blocking code on virtual
 * threads.
 */
@NullMarked
package io.pointsman.control.health;

import org.jspecify.annotations.NullMarked;
