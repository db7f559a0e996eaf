package dev.holdfast.client;

/** The logger of the client. A log handler that throws harms no session. */
final class Log {
  private static final System.Logger LOGGER = System.getLogger(Holdfast.class.getName());

  private Log() {}

  static void debug(String text, Object... parameters) {
    log(System.Logger.Level.DEBUG, text, parameters);
  }

  static void info(String text, Object... parameters) {
    log(System.Logger.Level.INFO, text, parameters);
  }

  static void warning(String text, Object... parameters) {
    log(System.Logger.Level.WARNING, text, parameters);
  }

  private static void log(System.Logger.Level level, String text, Object... parameters) {
    try {
      LOGGER.log(level, text, parameters);
    } catch (RuntimeException e) {
      // There is nowhere to report it.
    }
  }

  static void error(String text, Throwable cause) {
    try {
      LOGGER.log(System.Logger.Level.ERROR, text, cause);
    } catch (RuntimeException e) {
      // There is nowhere to report it.
    }
  }
}
