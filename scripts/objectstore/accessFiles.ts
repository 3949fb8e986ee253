import { lstat, readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import type { AccessEntry } from '../../src/adapters/objectstorage/accessEntry.ts'
import { bucketLogPath, rotatedLogPath } from '../../src/adapters/objectstorage/accessLog.ts'
import { isFolderName } from '../../src/adapters/objectstorage/folders.ts'
import { DAY_MS } from '../../src/core/clock.ts'
import { AccessFile } from './accessFile.ts'

/** How long logs of a deleted bucket are kept. */
const RETENTION_MS = 90 * DAY_MS

export type AccessFilesOptions = {
  folder: string
  /** Contains a folder of the store for each bucket. */
  objects: string
  /** The size of each file. */
  fileBytes: number
}

/** Separate logs for each bucket, so that requests to others displace nothing. */
export class AccessFiles {
  readonly #files = new Map<string, AccessFile>()
  readonly #options: AccessFilesOptions

  constructor(options: AccessFilesOptions) {
    this.#options = options
  }

  /** Ignores requests to buckets that do not exist: nobody would see them, and clients can invent names without end. */
  async append(entry: AccessEntry): Promise<void> {
    const file = await this.#fileFor(entry)
    await file?.append(JSON.stringify(entry))
  }

  /** Removes logs of buckets deleted long ago, and the shared logs of earlier versions. */
  async sweep(now: number): Promise<void> {
    const { folder, objects } = this.#options
    const isOld = async (path: string) => now - (await stat(path)).mtimeMs > RETENTION_MS
    for (const name of await readdir(folder)) {
      const path = join(folder, name)
      if (!(await isOld(path)) || (await isThere(join(objects, name.split('_')[0] ?? '')))) continue
      this.#files.delete(path)
      await rm(path)
    }
    const former = `${folder}.jsonl`
    for (const path of [former, rotatedLogPath(former)])
      if ((await isThere(path)) && (await isOld(path))) await rm(path)
  }

  async #fileFor(entry: AccessEntry): Promise<AccessFile | undefined> {
    const { folder, objects, fileBytes } = this.#options
    if (!isFolderName(entry.Bucket)) return undefined
    const path = bucketLogPath(folder, entry.Bucket, isOfKey(entry) ? 'done' : 'refused')
    // Requests to a bucket just before its deletion may be reported shortly after it.
    const isBucket = this.#files.has(path) || (await isThere(path)) || (await isThere(join(objects, entry.Bucket)))
    if (!isBucket) return undefined
    const file = this.#files.get(path) ?? new AccessFile(path, fileBytes)
    this.#files.set(path, file)
    return file
  }
}

/** Requests that only a key holder can cause. A refused client may have named a key that is not theirs. */
const isOfKey = ({ Requester, HttpStatus }: AccessEntry) => !['', '-'].includes(Requester) && HttpStatus < 400

async function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  )
}
