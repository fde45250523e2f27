/** Identities of clients, and the keys of the router that give them rights. */
@NullMarked
package io.pointsman.proxy.identity;

import org.jspecify.annotations.NullMarked;
