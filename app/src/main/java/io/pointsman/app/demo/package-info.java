/** The main job in one process: simulated engines, the router in front, chats, and a table. */
@NullMarked
package io.pointsman.app.demo;

import org.jspecify.annotations.NullMarked;
