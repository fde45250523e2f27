/** The registry of configuration keys: name, type, default, meaning, by topic. */
@NullMarked
package io.pointsman.app.config.key;

import org.jspecify.annotations.NullMarked;
