@NullMarked
package io.pointsman.bench;

import org.jspecify.annotations.NullMarked;
