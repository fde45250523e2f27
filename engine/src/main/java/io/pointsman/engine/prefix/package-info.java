/** Which worker holds which prefix of a prompt. */
@NullMarked
package io.pointsman.engine.prefix;

import org.jspecify.annotations.NullMarked;
