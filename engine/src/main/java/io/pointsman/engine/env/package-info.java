/** What the engine needs from its surroundings, as parameters: time and chance. */
@NullMarked
package io.pointsman.engine.env;

import org.jspecify.annotations.NullMarked;
