@NullMarked
package io.pointsman.control.kvtokens;

import org.jspecify.annotations.NullMarked;
