package dev.holdfast.conformance;

import com.google.gson.JsonObject;

/** Serves one command. */
@FunctionalInterface
interface Command {
  JsonObject serve(Desk desk, Fields fields) throws Exception;
}
