@NullMarked
package io.pointsman.app.kvtokens;

import org.jspecify.annotations.NullMarked;
