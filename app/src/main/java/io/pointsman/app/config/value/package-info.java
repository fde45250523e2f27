/** The types of configuration values: how they are read, written and described. */
@NullMarked
package io.pointsman.app.config.value;

import org.jspecify.annotations.NullMarked;
