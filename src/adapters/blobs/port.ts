/** The owner of a blob, with which it is deleted. */
export type BlobOwner = { apiVersion: string; kind: string; name: string; uid: string; labels: Record<string, string> }
export type BlobRef = { namespace: string; name: string }
export type Blob = { bytes: Uint8Array; version: string }

/** Keeps what is too long for an object and too small for a store of its own: histories, logs of a build. */
export interface BlobStore {
  /** Longer ones are refused. */
  readonly maxBytes: number
  read(ref: BlobRef): Promise<Blob | undefined>
  /**
   * Writes if what is stored is still of that version; undefined means that nothing is stored.
   *
   * @returns whether it was written: false if somebody else was faster
   * @throws RangeError for more than `maxBytes`
   */
  write(ref: BlobRef, bytes: Uint8Array, options: { version: string | undefined; owner: BlobOwner }): Promise<boolean>
  /** Also if there is none. */
  remove(ref: BlobRef): Promise<void>
}

/** Where each part of something lies that is too long for one blob, by its number from 0 on. */
export type PlaceOfPart = (part: number) => BlobRef
export type Parted = { bytes: Uint8Array; placeOf: PlaceOfPart; owner: BlobOwner }

/** @returns what so many parts hold, in order; undefined if one of them is missing */
export async function readParts(
  blobs: Pick<BlobStore, 'read'>,
  placeOf: PlaceOfPart,
  count: number,
): Promise<Uint8Array[] | undefined> {
  const pieces: Uint8Array[] = []
  for (let part = 0; part < count; part += 1) {
    const blob = await blobs.read(placeOf(part))
    if (blob === undefined) return undefined
    pieces.push(blob.bytes)
  }
  return pieces
}

export const partsNeeded = ({ maxBytes }: Pick<BlobStore, 'maxBytes'>, bytes: number) => Math.ceil(bytes / maxBytes)

/**
 * Writes the parts that are not there.
 *
 * @param made gets each of them as soon as it is written
 * @returns whether none was there
 */
async function add(blobs: BlobStore, { bytes, placeOf, owner }: Parted, made: BlobRef[]): Promise<boolean> {
  let isAllNew = true
  for (let part = 0; part < partsNeeded(blobs, bytes.length); part += 1) {
    const piece = bytes.subarray(part * blobs.maxBytes, (part + 1) * blobs.maxBytes)
    if (await blobs.write(placeOf(part), piece, { version: undefined, owner })) made.push(placeOf(part))
    else isAllNew = false
  }
  return isAllNew
}

/**
 * Keeps content for the change that refers to it, and if that is refused, removes the parts that were not there before.
 * Their places follow from the content: what was interrupted is taken up by the next one of the same.
 *
 * @param isReferredTo asked of what is stored, after a refusal
 * @param onLeft told if parts of a refused change could not be removed
 */
export async function withParts<Result>(
  blobs: BlobStore,
  parted: Parted,
  change: () => Promise<Result>,
  { isReferredTo, onLeft }: { isReferredTo: () => Promise<boolean>; onLeft: (failure: unknown) => void },
): Promise<Result> {
  const made: BlobRef[] = []
  try {
    const isAllNew = await add(blobs, parted, made)
    const result = await change()
    // Parts that were there may have been those of a change that was refused meanwhile.
    if (!isAllNew) await add(blobs, parted, [])
    return result
  } catch (error) {
    await takeBack().catch(onLeft)
    throw error
  }

  async function takeBack(): Promise<void> {
    if (await isReferredTo()) return
    for (const part of made) await blobs.remove(part)
    // Somebody else may have kept the same content between the two.
    if (await isReferredTo()) await add(blobs, parted, [])
  }
}
