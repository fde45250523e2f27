/** Strategies of requests: the interfaces between an exchange and the choice of its workers. */
@NullMarked
package io.pointsman.proxy.handler;

import org.jspecify.annotations.NullMarked;
