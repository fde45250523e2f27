/** The registry of configuration keys, by topic: name, type, default, meaning. */
@NullMarked
package io.pointsman.config.key;

import org.jspecify.annotations.NullMarked;
