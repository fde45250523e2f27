@NullMarked
package io.pointsman.api.decide;

import org.jspecify.annotations.NullMarked;
