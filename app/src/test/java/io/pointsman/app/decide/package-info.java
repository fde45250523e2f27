@NullMarked
package io.pointsman.app.decide;

import org.jspecify.annotations.NullMarked;
