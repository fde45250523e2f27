@NullMarked
package io.pointsman.batch;

import org.jspecify.annotations.NullMarked;
