package dev.holdfast.client;

import dev.holdfast.v1.SessionCommand;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;

/** The commands of a session that wait to be sent, in messages within the bounds of the server. */
final class CommandQueue {
  private final Map<Long, CommandOwner> owners;
  private final ArrayDeque<SessionCommand> waiting = new ArrayDeque<>();

  /** The attaches without an answer. */
  private final Set<Long> attaches = new HashSet<>();

  private int maxCommands = Numbers.Session.MAX_COMMANDS_IN_MESSAGE;
  private int maxBytes = Numbers.Session.MAX_MESSAGE_BYTES;

  /**
   * @param owners the owners of the session's commands
   */
  CommandQueue(Map<Long, CommandOwner> owners) {
    this.owners = owners;
  }

  /** Takes the bounds of the server. 0: the server names none. */
  void bound(int commandCount, int messageBytes) {
    maxCommands = commandCount > 0 ? Math.min(maxCommands, commandCount) : maxCommands;
    maxBytes = messageBytes > 0 ? Math.min(maxBytes, messageBytes) : maxBytes;
  }

  void add(SessionCommand command) {
    waiting.addLast(command);
  }

  /** Returns whether the command was an attach, so that another attach may follow. */
  boolean answered(long commandId) {
    return attaches.remove(commandId);
  }

  /** The commands of the next message. */
  List<SessionCommand> next() {
    List<SessionCommand> commands = new ArrayList<>();
    long bytes = 0;
    while (commands.size() < maxCommands) {
      SessionCommand command = waiting.peekFirst();
      if (command == null) {
        break;
      }
      long id = command.getCommandId();
      CommandOwner owner = owners.get(id);
      if (owner != null && owner.isOver()) {
        owners.remove(id);
        waiting.removeFirst();
        continue;
      }
      if (command.hasAttach() && attaches.size() >= Numbers.Session.MAX_ATTACHES_UNANSWERED) {
        break;
      }
      bytes += command.getSerializedSize() + 8;
      if (!commands.isEmpty() && bytes > maxBytes * Numbers.Session.COMMANDS_SHARE_OF_MESSAGE) {
        break;
      }
      if (command.hasAttach()) {
        attaches.add(id);
      }
      commands.add(waiting.removeFirst());
    }
    return commands;
  }

  void clear() {
    waiting.clear();
  }
}
