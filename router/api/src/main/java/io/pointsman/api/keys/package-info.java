/** Keys of clients in a file: created once, stored as hashes, checked for each request. */
@NullMarked
package io.pointsman.api.keys;

import org.jspecify.annotations.NullMarked;
