/** Types of configuration values: reading, formatting, description. */
@NullMarked
package io.pointsman.config.value;

import org.jspecify.annotations.NullMarked;
