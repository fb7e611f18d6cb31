import type * as Seam from "../../src/store/backend.ts";

/** A backend that leaves everything to another one: what is broken overrides what it breaks. */
export class PassThrough implements Seam.StorageBackend {
  readonly inner: Seam.StorageBackend;

  constructor(inner: Seam.StorageBackend) {
    this.inner = inner;
  }

  get name(): string {
    return this.inner.name;
  }

  locate(...args: Parameters<Seam.StorageBackend["locate"]>) {
    return this.inner.locate(...args);
  }

  readStored(id: string) {
    return this.inner.readStored(id);
  }

  readRevision(id: string) {
    return this.inner.readRevision(id);
  }

  readSuffix(id: string, fromSeq: number, limit: number) {
    return this.inner.readSuffix(id, fromSeq, limit);
  }

  appendBatch(batches: readonly Seam.AppendBatch[]) {
    return this.inner.appendBatch(batches);
  }

  commitRepair(id: string, repair: Seam.Repair) {
    return this.inner.commitRepair(id, repair);
  }

  list(request: Seam.PageRequest) {
    return this.inner.list(request);
  }

  listSnapshots(request: Seam.PageRequest) {
    return this.inner.listSnapshots(request);
  }

  delete(id: string) {
    return this.inner.delete(id);
  }

  checkWritable() {
    return this.inner.checkWritable();
  }

  close() {
    return this.inner.close();
  }
}
