/** Which edits come from the disk: git, another program, "Revert File". The editor tells of all edits in the same words. */

interface Document {
  readonly version: number;
  readonly isDirty: boolean;
}

/** The texts that this editor had unsaved, or has saved: nobody else wrote those. */
export class Disk {
  readonly #ours = new WeakMap<Document, number>();

  /** The document was unsaved, or was saved, with the text that it has now. */
  markOurs(document: Document): void {
    this.#ours.set(document, document.version);
  }

  /** Asked some time after an edit: autosave may have written in between what a person typed. */
  hasWritten(document: Document, version: number): boolean {
    return !document.isDirty && document.version === version && this.#ours.get(document) !== version;
  }
}
