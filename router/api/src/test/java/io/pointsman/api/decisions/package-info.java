@NullMarked
package io.pointsman.api.decisions;

import org.jspecify.annotations.NullMarked;
