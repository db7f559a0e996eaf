package dev.holdfast.client;

import dev.holdfast.v1.AutocompleteServiceGrpc;
import dev.holdfast.v1.Entry;
import dev.holdfast.v1.ImportBatch;
import dev.holdfast.v1.ImportCommit;
import dev.holdfast.v1.ImportDictionaryRequest;
import dev.holdfast.v1.ImportDictionaryResponse;
import dev.holdfast.v1.ImportStart;
import io.grpc.CallOptions;
import io.grpc.ClientCall;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.Status;
import java.util.List;
import java.util.concurrent.CompletableFuture;

/** One import: start, batches, commit. Without the commit nothing changes. */
final class ImportCall extends ClientCall.Listener<ImportDictionaryResponse> {
  private final CallChannel calls;
  private final ManagedChannel channel;
  private final ClientCall<ImportDictionaryRequest, ImportDictionaryResponse> call;
  private final CallChannel.Answer<ImportDictionaryResponse> answer = new CallChannel.Answer<>();

  ImportCall(CallChannel calls) {
    this.calls = calls;
    Metadata metadata = calls.metadata();
    channel = calls.current();
    call =
        channel.newCall(AutocompleteServiceGrpc.getImportDictionaryMethod(), CallOptions.DEFAULT);
    call.start(this, metadata);
    call.request(2);
  }

  @Override
  public void onMessage(ImportDictionaryResponse message) {
    answer.onMessage(message);
  }

  @Override
  public void onClose(Status status, Metadata trailers) {
    answer.onClose(status, trailers);
    wake();
  }

  @Override
  public void onReady() {
    wake();
  }

  private synchronized void wake() {
    notifyAll();
  }

  /** Reads the entries as fast as the server takes them. */
  DictionaryInfo run(ImportStart start, EntryBatches batches) {
    boolean isDone = false;
    try {
      send(ImportDictionaryRequest.newBuilder().setStart(start));
      long count = 0;
      List<Entry> batch = batches.next();
      while (!batch.isEmpty() && waitUntilReady()) {
        count += batch.size();
        ImportBatch.Builder message = ImportBatch.newBuilder().addAllEntries(batch);
        send(ImportDictionaryRequest.newBuilder().setBatch(message));
        batch = batches.next();
      }
      send(
          ImportDictionaryRequest.newBuilder()
              .setCommit(ImportCommit.newBuilder().setEntryCount(count)));
      call.halfClose();
      DictionaryInfo info = new DictionaryInfo(answered(answer.future).getDictionary());
      isDone = true;
      return info;
    } finally {
      if (!isDone) {
        call.cancel("the import has failed", null);
      }
    }
  }

  private ImportDictionaryResponse answered(CompletableFuture<ImportDictionaryResponse> future) {
    try {
      return Await.answer(future);
    } catch (HoldfastException e) {
      calls.throwIfClosed();
      calls.servers.failed(channel, e);
      throw e;
    }
  }

  private void send(ImportDictionaryRequest.Builder request) {
    if (!answer.future.isDone()) {
      call.sendMessage(request.build());
    }
  }

  /** False: the answer came early, so the source is not read any more. */
  private synchronized boolean waitUntilReady() {
    try {
      while (!call.isReady() && !answer.future.isDone()) {
        wait();
      }
    } catch (InterruptedException e) {
      Thread.currentThread().interrupt();
      throw Errors.interrupted(e);
    }
    return !answer.future.isDone();
  }
}
