/** Data that engines exchange through the router: addresses, sizes, identities. */
@NullMarked
package io.pointsman.pd.peer;

import org.jspecify.annotations.NullMarked;
