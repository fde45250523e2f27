/** Choice of two workers for planes that carry the bytes themselves. */
@NullMarked
package io.pointsman.pd.choice;

import org.jspecify.annotations.NullMarked;
