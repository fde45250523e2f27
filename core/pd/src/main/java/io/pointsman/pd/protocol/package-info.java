/** The protocols for transferring a prompt's KV blocks, one file each. They do no I/O. */
@NullMarked
package io.pointsman.pd.protocol;

import org.jspecify.annotations.NullMarked;
