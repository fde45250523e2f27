/** The index of prompt prefixes by worker. */
@NullMarked
package io.pointsman.engine.prefix;

import org.jspecify.annotations.NullMarked;
