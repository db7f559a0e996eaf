@org.jspecify.annotations.NullMarked
package dev.holdfast.client;
